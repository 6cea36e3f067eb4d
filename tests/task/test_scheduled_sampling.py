# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Scheduled sampling: no share is teacher forcing, samples are the model's own, and the schedules reach a step."""

import dataclasses
import functools
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from saccade.build import build
from saccade.ops.masking import row_keys
from saccade.task.base import Forward
from saccade.task.scheduled_sampling import Exponential, InverseSigmoid, Linear, ScheduledSampling, mixed
from saccade.task.translation import Translation, given
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.learner import Learner
from saccade.types import Part

ROOT = Path(__file__).parents[2] / 'experiments'
KEY = jax.random.key(3)
B, S, T, V = 3, 7, 7, 13
RECURRENT = {
    'use': 'model.recurrent_seq2seq:RecurrentSeq2Seq', 'vocabulary': V, 'context_length': T,
    'source_context_length': S, 'width': 8,
    'encoder': {'use': 'recurrent.encoder:Encoder', 'bidirectional': True, 'layers': 1,
                'cell': {'use': 'recurrent.cell.lstm:LSTM', 'width': 8}},
    'bridge': {'use': 'recurrent.decoder.projected:Projected'},
    'decoder': {'use': 'recurrent.decoder.bahdanau:Bahdanau', 'layers': 1,
                'cell': {'use': 'recurrent.cell.lstm:LSTM', 'width': 8},
                'attention': {'use': 'recurrent.decoder.soft:Soft',
                              'score': {'use': 'recurrent.score.additive:Additive', 'width': 8}}},
    'source_vocabulary': V, 'tied': False,
}  # fmt: skip


def attention(mask):
    return {'use': 'attention.multi_head:MultiHead', 'heads': 2, 'mask': {'use': f'ops.mask:{mask}'}}


TOWER = {'vocabulary': V, 'width': 8, 'layers': 2, 'position': {'use': 'position.sinusoid:Sinusoid'}}
BLOCK = {'use': 'block.pre_norm:PreNorm'}
TRANSFORMER = {
    'use': 'model.encoder_decoder:EncoderDecoder', 'shared_embedding': False,
    'encoder': {'use': 'model.encoder:Encoder', 'context_length': S, 'block': {**BLOCK, 'mixer': attention('Full')},
                **TOWER},
    'decoder': {'use': 'model.decoder:Decoder', 'context_length': T, 'tied': False, **TOWER,
                'block': {**BLOCK, 'mixer': attention('Causal'), 'cross': attention('Full')}},
}  # fmt: skip
MODELS = {'recurrent': RECURRENT, 'transformer': TRANSFORMER}


@functools.cache
def batch():
    draw = np.random.default_rng(0)
    there, read = (np.arange(T) < np.array([[7], [4], [6]])), (np.arange(S) < np.array([[5], [7], [6]]))
    arrays = {
        'source': draw.integers(3, V, (B, S)),
        'source_segments': read,
        'source_positions': np.arange(S) * read,
        'tokens': draw.integers(3, V, (B, T)),
        'segments': there,
        'positions': np.arange(T) * there,
        'end': np.full(B, 2),
        'row': np.array([4, 1, 9]),
    }
    return {name: jnp.array(array, jnp.int32) for name, array in arrays.items()}


@functools.cache
def made(name):
    """A model, and weights so large that its logits differ."""
    model = build(MODELS[name])()
    params = model.init(jax.random.key(0), *given(batch()), False)['params']
    random = np.random.default_rng(1)
    return model, jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape), jnp.float32), params)


def task(of=ScheduledSampling, **fields):
    search, metric = {'use': 'decode.greedy:Greedy'}, {'use': 'metric.exact:ExactMatch'}
    return build({'use': f'{of.__module__}:{of.__name__}'.removeprefix('saccade.'), 'search': search,
                  'metrics': [metric], **fields})()  # fmt: skip


def step(of, model, params, key=KEY, train=True):
    def loss(params):
        totals = of.loss(model, params, batch(), key, train)
        return totals['loss'].mean(), totals

    return jax.value_and_grad(loss, has_aux=True)(params)


@pytest.mark.long
@pytest.mark.parametrize('name', MODELS)
def test_no_share_is_teacher_forcing_to_the_last_bit(name):
    found, expected = (step(of, *made(name)) for of in (task(), task(Translation)))
    jax.tree.map(np.testing.assert_array_equal, found, expected)


@pytest.mark.long
@pytest.mark.parametrize('name', MODELS)
def test_samples_are_those_of_the_model_after_its_own_samples(name):
    """The whole rows, read at once, give the chances from which each of their tokens was drawn."""
    model, params = made(name)
    written = mixed(Forward(model, params, KEY), batch(), 1.0)
    source, source_context, tokens, context = given(batch())
    logits = model.apply({'params': params}, source, source_context, written, context, False)
    keys = row_keys(jax.random.fold_in(KEY, 1), batch()['row'])
    np.testing.assert_array_equal(written[:, 0], tokens[:, 0])
    for b, t in np.argwhere(np.asarray(context.segments)[:, :-1]):
        sample = jax.random.split(jax.random.fold_in(keys[b], t))[1]
        assert written[b, t + 1] == jax.random.categorical(sample, logits[b, t])


@pytest.mark.long
def test_a_share_of_the_tokens_is_replaced():
    model, params = made('transformer')
    many = {name: jnp.repeat(leaf[:1], 400, axis=0) for name, leaf in batch().items()} | {'row': jnp.arange(400)}
    written = mixed(Forward(model, params, KEY), many, 0.25)
    changed, all_own = (
        (made != many['tokens'][:, :-1]) for made in (written, mixed(Forward(model, params), many, 1.0))
    )
    own = np.mean(all_own[:, 1:])  # less than 1, as samples can be the targets
    assert not changed[:, 0].any()
    np.testing.assert_allclose(np.mean(changed[:, 1]), 0.25 * np.mean(all_own[:, 1]), atol=0.06)
    assert 0.15 < np.mean(changed[:, 1:]) / own < 0.35


@pytest.mark.long
def test_a_model_that_does_not_read_its_output_has_no_exposure_bias():
    model, params = made('recurrent')
    of = task()
    blind = params | {'embedding': jnp.zeros_like(params['embedding'])}
    for weights, equal in ((params, False), (blind, True)):
        totals = of.loss(model, weights, batch(), KEY, False)
        assert np.isclose(totals['own_loss'].mean(), totals['loss'].mean(), rtol=1e-5) == equal


@pytest.mark.long
@pytest.mark.parametrize('name', MODELS)
def test_training_is_the_loss_of_the_targets_after_mixed_inputs(name):
    model, params = made(name)
    tokens = mixed(Forward(model, params, KEY), batch(), 0.5)
    source, source_context, _, context = given(batch())
    logits = model.apply({'params': params}, source, source_context, tokens, context, False)
    targets, segments = np.asarray(batch()['tokens'])[:, 1:], np.asarray(batch()['segments'])
    losses = [-jax.nn.log_softmax(logits)[b, t, targets[b, t]] for b, t in np.argwhere(segments[:, 1:])]
    (found, _), gradient = step(task(ratio=0.5), model, params)
    np.testing.assert_allclose(found, np.mean(losses), rtol=1e-5)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))


def test_schedules_are_those_of_the_paper():
    for i in (0, 1, 100, 700):
        at = jnp.int32(i)
        np.testing.assert_allclose(Linear(0.002, 0.1, 0.8)(at), 1 - max(0.2, 0.9 - 0.002 * i), rtol=1e-5)
        np.testing.assert_allclose(Exponential(0.99)(at), 1 - 0.99**i, rtol=1e-5)
        np.testing.assert_allclose(InverseSigmoid(50.0)(at), 1 - 50 / (50 + np.exp(i / 50)), rtol=1e-5)


@pytest.mark.long
def test_a_step_of_training_has_the_share_of_its_number():
    model, params = made('recurrent')
    schedule = {'use': 'task.scheduled_sampling:Linear', 'slope': 0.5}
    shares = [task(schedule=schedule), task(ratio=0.5), task(ratio=0.0)]

    def after(of, number):
        learner = Learner(model, of, optax.sgd(1.0), lambda step: 1.0, 'float32')
        state = learner.init(jax.random.key_data(jax.random.key(0)), batch())
        state = state.replace(params=params, step=jnp.int32(number))
        return float(jax.jit(learner.train_step)(state, batch())[1]['loss'])

    scheduled, half, none = ([after(of, number) for number in (0, 1)] for of in shares)
    assert scheduled == pytest.approx([none[0], half[1]], rel=1e-6)
    assert abs(half[1] - none[1]) > 1e-3


@pytest.mark.long
def test_the_experiment_builds_and_its_schedule_is_read():
    made = Experiment.of(load_config(str(ROOT / 'translation/scheduled_sampling.py')))
    assert isinstance(made.task(), ScheduledSampling)
    fixed = made.task().at_step(jnp.int32(0))
    assert fixed.schedule is None
    assert float(fixed.ratio) == pytest.approx(1 / 101, rel=1e-4)
    assert dataclasses.replace(fixed, ratio=0.0).at_step(jnp.int32(9)).ratio == 0.0
    assert made.task.target is Part(ScheduledSampling).target
