# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Every experiment that undoes corruption builds, its sizes hang together, and a step of it learns from targets."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.ops.denoising import DenoiserMixture
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.initial import kept, param_shapes
from saccade.train.setup import make_learner
from saccade.types import Seq2Seq, UserError

ROOT = Path(__file__).parents[2] / 'experiments/denoising'
NAMES = sorted(path.stem for path in ROOT.glob('*.py') if 'def get_config(' in path.read_text())
ONE_DECODER = ('prefix_lm', 'ul2_decoder')
VOCABULARY, CONTEXT, ROWS = 128, 24, 3
# Short rows have no room for the long spans of UL2.
SHORT = "[{'use': 'ops.denoising:Spans', 'rate': 0.15, 'mean': 3.0, 'mode': '[R]'},"
SHORT += " {'use': 'ops.denoising:Sequential', 'mode': '[S]'},"
SHORT += " {'use': 'ops.denoising:Spans', 'rate': 0.5, 'mean': 8.0, 'mode': '[X]'}]"


def experiment(name, *overrides):
    return Experiment.of(load_config(str(ROOT / f'{name}.py'), [f'--config.{each}' for each in overrides]))


def narrow(name):
    sizes = dict(width=16, layers=1, vocabulary=VOCABULARY)
    mixture = [f'task.denoisers={SHORT}'] if name.startswith('ul2') else []
    return experiment(
        name,
        *(f'model.decoder.{field}={size}' for field, size in sizes.items()),
        f'data.context_length={CONTEXT}',
        *mixture,
    )


def batch_of(made):
    """Rows of ordinary tokens, with the special tokens of the config; the last row is short."""
    like, draw = made.data().batch_like(ROWS), np.random.default_rng(0)
    there = (np.arange(CONTEXT + 1) < np.array([[CONTEXT + 1], [CONTEXT + 1], [9]])).astype(np.int32)
    own = {
        'tokens': draw.integers(110, VOCABULARY, there.shape) * there,
        'segments': there,
        'positions': np.arange(CONTEXT + 1) * there,
        'row': np.arange(ROWS),
        'sentinels': np.tile(1 + np.arange(like['sentinels'].shape[1]), (ROWS, 1)),
    }
    modes = {mode: np.full(ROWS, 101 + number) for number, mode in enumerate(made.data().modes)}
    return {name: jnp.array((own | modes).get(name, np.zeros(shape.shape)), jnp.int32) for name, shape in like.items()}


def test_there_are_experiments():
    assert NAMES == ['prefix_lm', 't5', 'ul2', 'ul2_decoder']


@pytest.mark.parametrize('name', NAMES)
def test_it_builds_and_the_model_has_room_for_what_the_denoisers_make(name):
    made = experiment(name)
    model, data = made.model(), made.data()
    assert isinstance(model, Seq2Seq)
    assert made.model.name.endswith('PrefixDecoder' if name in ONE_DECODER else 'EncoderDecoder')
    mixture = DenoiserMixture(tuple(part() for part in made.task().denoisers), data.context_length)
    read, written = mixture.sizes
    assert read <= model.source_context_length
    assert written <= model.context_length
    assert mixture.sentinels <= data.sentinels
    assert {each.mode for each in mixture.denoisers} - {None} == set(data.modes)
    made.optimizer()(made.schedule()(made.steps), *kept(made))


@pytest.mark.parametrize('name', NAMES)
def test_the_tokenizer_has_the_special_tokens_that_the_data_ask_for(name):
    data = experiment(name).data()
    specials = data.tokenizer['specials'] if 'specials' in dict(data.tokenizer.arguments) else ()
    assert set(data.modes) | {f'<extra_id_{number}>' for number in range(data.sentinels)} == set(specials)


@pytest.mark.parametrize('name', NAMES)
def test_another_length_is_that_of_data_and_model(name):
    made = experiment(name, 'data.context_length=300')
    assert made.model().source_context_length > 300
    assert made.model().context_length > 300


def test_ul2_has_the_seven_denoisers_of_its_table():
    denoisers = [part() for part in experiment('ul2').task().denoisers]
    table = {(each.mode, each.rate, each.mean) for each in denoisers if each.marked}
    assert table == {
        ('[R]', 0.15, 3.0), ('[R]', 0.15, 8.0),
        ('[X]', 0.5, 3.0), ('[X]', 0.5, 8.0), ('[X]', 0.15, 64.0), ('[X]', 0.5, 64.0),
    }  # fmt: skip
    (rest,) = (each for each in denoisers if not each.marked)
    assert (rest.mode, (rest.least + rest.most) / 2) == ('[S]', 0.25)
    assert experiment('ul2_decoder').task().denoisers == experiment('ul2').task().denoisers


@pytest.mark.long
@pytest.mark.parametrize('name', NAMES)
def test_a_step_learns(name):
    made = narrow(name)
    learner, batch = make_learner(made), batch_of(made)
    state = jax.jit(learner.init)(jax.random.key_data(jax.random.key(0)), batch)
    state, metrics = jax.jit(learner.train_step)(state, batch)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves((state.params, metrics)))
    assert metrics['gradient_norm'] > 0


def test_a_row_too_short_for_a_span_and_a_rate_out_of_range_are_refused_before_anything_is_compiled():
    with pytest.raises(UserError, match=r'rows of 8 tokens lose 1\.2 at a rate of 0\.15, too few for a span of 3'):
        param_shapes(experiment('t5', 'data.context_length=8'))
    with pytest.raises(UserError, match=r'rate must be above 0 and below 1, not 1\.5'):
        param_shapes(experiment('t5', 'task.denoisers.0.rate=1.5'))
    with pytest.raises(UserError, match='sentinels: 100 are too few'):
        param_shapes(experiment('t5', 'data.context_length=4096'))
