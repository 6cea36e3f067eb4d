# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What holds for every task and model with every part, and must be run: what is learned, padding, packing, steps."""

from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from reach import assert_reports_arrive
from wholes import (
    LENGTH,
    VOCABULARY,
    batch_of,
    by_name,
    config_of,
    drawn,
    experiment_of,
    named,
    narrow,
    pairs,
    towers,
    triples,
)

from saccade.block.base import BlockBase
from saccade.task.translation import given
from saccade.train.experiment import Experiment
from saccade.train.setup import make_learner
from saccade.types import LayerContext, UserError

pytestmark = pytest.mark.long

RELATIVE = 1e-4  # of the largest logit, loss or gradient
CHUNK = 6  # tokens of a step
MORE = 8  # places of padding
WITH_TOWERS = [pair for pair in pairs() if any(True for _ in towers(config_of(pair.file)['model']))]
STATISTICS = ('running_mean', 'running_variance', 'running_square', 'balance_bias')
REPORTING = ('norm', 'feedforward')
# An encoder-decoder has the layers of the two others, and cross-attention.
ALONE, ACROSS = ('mixer', 'mask', 'block', 'tokens'), ('cross', 'block')


@pytest.mark.parametrize(('pair', 'swap'), triples(WITH_TOWERS, REPORTING))
def test_what_a_part_reports_reaches_loss_and_log(pair, swap):
    assert_reports_arrive(pair, swap)


@pytest.mark.parametrize('pair', WITH_TOWERS, ids=lambda pair: pair.name)
def test_statistics_move_and_a_mixtures_losses_are_learned_from(pair):
    config = narrow(config_of(pair.file))
    choice = {'use': 'feedforward.loss_free:LossFree', 'score': {'use': 'jax.nn:softmax'}, 'renormalised': True}
    expert = {'use': 'feedforward.mlp:MLP', 'activation': {'use': 'jax.nn:gelu'}}
    for tower, _ in towers(config['model']):
        tower['norm'] = {'use': 'norm.power:PowerNorm'}
        for block in tower['block'] if isinstance(tower['block'], list) else [tower['block']]:
            block['norm'] = {'use': 'norm.batch:BatchNorm'}
            block['feedforward'] = {
                'use': 'feedforward.mixture:Mixture', 'experts': 4, 'active': 1, 'expert': expert,
                'router': {**choice, 'balance': 0.1},
            }  # fmt: skip
    experiment = Experiment.of(config)
    learner, batch = make_learner(experiment), batch_of(experiment)
    state = jax.jit(learner.init)(jax.random.key_data(jax.random.key(0)), batch)
    after, metrics = jax.jit(learner.train_step)(state, batch)
    before = dict(jax.tree_util.tree_leaves_with_path(state.params))
    followed = [path for path in before if path[-1].key in STATISTICS and path[0].key != 'teacher']
    assert {path[-1].key for path in followed} == set(STATISTICS)
    moved = dict(jax.tree_util.tree_leaves_with_path(after.params))
    for path in followed:
        assert (np.asarray(before[path]) != np.asarray(moved[path])).any(), path
    assert metrics['loss'] > metrics[experiment.task().bare]
    assert metrics['balance_loss'] > 0


def logits_of(experiment: Experiment, params: Any, batch: Any) -> tuple[jax.Array, list[LayerContext]]:
    """The logits of each token, and what the layers of all towers know of their tokens."""
    model, contexts = experiment.model(), []

    def watch(go: Any, arguments: Any, options: Any, context: Any) -> Any:
        if isinstance(context.module, BlockBase) and context.method_name == 'mix':
            contexts.append(arguments[1].replace(source=None, terms=(), layer=None, handed={}))
        return go(*arguments, **options)

    inputs = (
        given(batch) if 'source' in batch else (batch['tokens'], LayerContext(batch['positions'], batch['segments']))
    )
    with nn.intercept_methods(watch):
        outputs = model.apply({'params': params}, *inputs, False)
    return (next(iter(outputs.values())) if isinstance(outputs, dict) else outputs), contexts


def steps_of(experiment: Experiment, params: Any, batch: Any) -> jax.Array:
    """The logits of each token of a target, a chunk at a time, after its source is read."""
    model = experiment.model()
    source, source_context, tokens, context = given(batch)
    T = tokens.shape[1]
    state = model.apply({'params': params}, source, source_context, T, method='encode')
    parts = []
    for start in range(0, T, CHUNK):
        here = slice(start, start + CHUNK)
        step = (tokens[:, here], context.segments[:, here], state)
        logits, state = model.apply({'params': params}, *step, method='step')
        parts.append(logits)
    return jnp.concatenate(parts, axis=1)


def pairs_of_sequences(length: int = LENGTH) -> dict[str, np.ndarray]:
    """Sources and targets: long and long, short and long, long and short."""
    random = np.random.default_rng(0)
    batch = {}
    for prefix, name, counts in (('source_', 'source', (length, 9, 16)), ('', 'tokens', (length, 18, 7))):
        there = (np.arange(length) < np.array(counts)[:, None]).astype(np.int32)
        batch[name] = random.integers(1, VOCABULARY, there.shape) * there
        batch |= {f'{prefix}segments': there, f'{prefix}positions': np.arange(length) * there}
    return {name: jnp.asarray(leaf, jnp.int32) for name, leaf in batch.items()}


def packed_rows() -> dict[str, np.ndarray]:
    """A row of two documents, and either alone."""
    random, lengths = np.random.default_rng(0), (14, 8)
    rows = [np.repeat((1, 2, 0), (*lengths, LENGTH - sum(lengths)))]
    rows += [np.repeat((1, 0), (length, LENGTH - length)) for length in lengths]
    segments = np.stack(rows)
    tokens = random.integers(1, VOCABULARY, segments.shape)
    tokens[1, : lengths[0]], tokens[2, : lengths[1]] = tokens[0, : lengths[0]], tokens[0, lengths[0] : sum(lengths)]
    starts = np.array([[0] * lengths[0] + [lengths[0]] * (LENGTH - lengths[0]), [0] * LENGTH, [0] * LENGTH])
    batch = {'tokens': tokens, 'segments': segments, 'positions': (np.arange(LENGTH) - starts) * (segments != 0)}
    return {name: jnp.asarray(leaf, jnp.int32) for name, leaf in batch.items()}


def assert_positions_rise(contexts: list[LayerContext]) -> None:
    """Within a segment positions rise by one per place, and there are no gaps."""
    for context in contexts:
        positions, segments = np.asarray(context.positions), np.asarray(context.numbered)
        same = (segments[:, 1:] == segments[:, :-1]) & (segments[:, 1:] != 0)
        assert (np.diff(positions)[same] == 1).all()
        for row in segments:
            kept = row[row != 0]
            assert (np.diff(np.flatnonzero(row)) == 1).all()
            assert (np.diff(kept) >= 0).all()


def near(found: Any, expected: Any, rounding: float = 1e-7) -> None:
    found, expected = np.asarray(found), np.asarray(expected)
    np.testing.assert_allclose(found, expected, rtol=0, atol=max(RELATIVE * np.abs(expected).max(), rounding))


def refused(error: UserError, swap: Any) -> None:
    """Skip, saying why, what is refused by the name of the part."""
    if not any(use in str(error) for use in named(swap.spec)):
        raise error
    pytest.skip(f'refused: {error}')


@pytest.mark.parametrize(
    ('pair', 'swap'),
    triples([by_name('Denoising PrefixDecoder')], ALONE) + triples([by_name('Translation EncoderDecoder')], ACROSS),
)
def test_steps_are_the_whole_and_padding_is_not_read(pair, swap):
    batch = pairs_of_sequences()
    try:
        experiment = experiment_of(pair, swap)
        params = drawn(experiment, batch_of(experiment))
        run = jax.jit(lambda params, batch: logits_of(experiment, params, batch))
        whole, contexts = run(params, batch)
    except UserError as error:
        refused(error, swap)
    real = np.asarray(batch['segments'][:, :-1]) != 0
    assert np.isfinite(np.asarray(whole)[real]).all()
    assert_positions_rise(contexts)
    other = {**batch}
    for prefix, name in (('source_', 'source'), ('', 'tokens')):
        other[name] = jnp.where(batch[f'{prefix}segments'] == 0, 7, batch[name])
    np.testing.assert_array_equal(np.asarray(run(params, other)[0])[real], np.asarray(whole)[real])
    later = {**batch, 'tokens': batch['tokens'].at[:, 5:].add(1) % VOCABULARY}
    np.testing.assert_array_equal(run(params, later)[0][:, :5], whole[:, :5])
    try:
        steps = jax.jit(lambda params, batch: steps_of(experiment, params, batch))(params, batch)
    except UserError as error:
        refused(error, swap)
    assert steps.shape == whole.shape
    if swap.continuous:
        near(np.asarray(steps)[real], np.asarray(whole)[real])


@pytest.mark.parametrize(('pair', 'swap'), triples([by_name('Tagging Encoder')], ALONE))
def test_packed_documents_are_as_if_alone_and_padding_is_not_read(pair, swap):
    batch = packed_rows()
    try:
        experiment = experiment_of(pair, swap)
        params = drawn(experiment, batch)
        run = jax.jit(lambda params, batch: logits_of(experiment, params, batch))
        found, contexts = run(params, batch)
    except UserError as error:
        refused(error, swap)
    assert_positions_rise(contexts)
    found, first, both = np.asarray(found), 14, 22
    if swap.continuous:
        near(found[0, :first], found[1, :first])
        near(found[0, first:both], found[2, : both - first])
    other = {**batch, 'tokens': jnp.where(batch['segments'] == 0, 7, batch['tokens'])}
    real = np.asarray(batch['segments']) != 0
    np.testing.assert_array_equal(np.asarray(run(params, other)[0])[real], found[real])


def with_room(batch: Any) -> Any:
    """The rows without the last place of one that a language model only predicts: with more padding it reads it too."""
    last = {name for name, leaf in batch.items() if leaf.ndim == 2 and leaf.shape[1] == LENGTH + 1}
    return {name: leaf.at[:, -1].set(0) if name in last else leaf for name, leaf in batch.items()}


def widened(batch: Any) -> Any:
    """The same rows with more padding."""
    rows = {name: leaf.ndim == 2 and leaf.shape[1] in (LENGTH, LENGTH + 1) for name, leaf in batch.items()}
    pad = {name: -100 if name == 'labels' else 0 for name in batch}
    return {
        name: jnp.pad(leaf, ((0, 0), (0, MORE)), constant_values=pad[name]) if rows[name] else leaf
        for name, leaf in batch.items()
    }


@pytest.mark.parametrize(
    ('pair', 'swap'),
    triples(map(by_name, ('CausalLM Decoder', 'Tagging Encoder', 'Translation EncoderDecoder')), REPORTING),
)
def test_more_padding_changes_no_loss_and_no_gradient(pair, swap):
    try:
        experiment = experiment_of(pair, swap)
        batch = with_room(batch_of(experiment))
        params = drawn(experiment, batch)
    except UserError as error:
        refused(error, swap)
    task, model = experiment.task(), experiment.model()

    @jax.jit
    def learn(params: Any, batch: Any) -> Any:
        def loss(params: Any) -> Any:
            return task.loss(model, params, batch, jax.random.key(0), True)['loss'].mean()

        return jax.value_and_grad(loss)(params)

    (loss, gradient), (same, as_much) = learn(params, batch), learn(params, widened(batch))
    near(same, loss)
    # A shift that a later norm takes out again has a gradient of zero: what is left of it is a rounding of the largest.
    largest = max(float(jnp.abs(leaf).max()) for leaf in jax.tree.leaves(gradient))
    rounding = max(1e-7, float(jnp.finfo(jnp.float32).eps) * largest)
    jax.tree.map(lambda found, expected: near(found, expected, rounding), as_much, gradient)
