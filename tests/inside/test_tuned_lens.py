# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Tuned lens: nearer to the prediction than the logit lens on held-out rows at every layer, exact after the last."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.data.tokenizer.word import Word
from saccade.inside.activations import Inside
from saccade.inside.circuits import logit_lens
from saccade.inside.interventions import edits_of
from saccade.inside.reading import Reading
from saccade.inside.tuned_lens import LayerMaps, comparison, divergence, read_by, tune
from saccade.task.causal_lm import CausalLM
from saccade.types import LayerContext, UserError

B, T, D, L, V = 16, 8, 16, 3, 11
NEAR = 1e-5


def decoder(run='Unrolled', **changes):
    mixer = {'use': 'attention.multi_head:MultiHead', 'heads': 4, 'mask': {'use': 'ops.mask:Causal'}}
    spec = {
        'use': 'model.decoder:Decoder', 'context_length': 16, 'width': D, 'layers': L, 'vocabulary': V, 'tied': False,
        'block': {'use': 'block.pre_norm:PreNorm', 'mixer': mixer}, 'run': {'use': f'model.stack:{run}'},
    }  # fmt: skip
    return build({**spec, **changes})()


def drawn(model, *given):
    shapes = jax.eval_shape(lambda: model.init(jax.random.key(0), *given))['params']
    random = np.random.default_rng(0)
    return jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape, scale=0.3), leaf.dtype), shapes)


def batch(number):
    """Rows of texts with unequal numbers of tokens."""
    random = np.random.default_rng(number)
    lengths = random.integers(T // 2, T + 1, B)
    segments = (np.arange(T) < lengths[:, None]).astype(np.int32)
    positions = np.tile(np.arange(T, dtype=np.int32), (B, 1))
    return jnp.array(random.integers(0, V, (B, T))), LayerContext(positions, segments)


@pytest.fixture(scope='module')
def trained():
    model = decoder()
    params = drawn(model, *batch(0))
    maps = tune((Inside(model, params, batch(number)) for number in range(200)), 200)
    return model, params, maps


def by_hand(model, params, maps, given):
    """The divergences of one batch, layer by layer, through changes of the last layer's output."""
    inside = Inside(model, params, given)
    names = ['layers.0.residual_before', *(f'layers.{n}.residual_after' for n in range(L))]
    logits, found = inside.run(names)
    final = np.asarray(jax.nn.log_softmax(logits), np.float64)
    real = np.asarray(given[1].segments) != 0
    for number, name in enumerate(names):
        state = found[name]
        if number < L:
            state = state + state @ np.asarray(maps.kernel[number]) + np.asarray(maps.bias[number])
        early = jax.nn.log_softmax(inside.run((), edits_of(inside.places, {names[-1]: state}))[0])
        yield (np.exp(final) * (final - early)).sum(axis=-1)[real].mean()


@pytest.mark.long
@pytest.mark.parametrize('run', ['Unrolled', 'Scanned'])
def test_divergences_are_those_of_changed_last_states(trained, run):
    model, params, maps = trained
    inside = Inside(decoder(run), params, batch(1000))
    expected = [*by_hand(model, params, maps, batch(1000))]
    np.testing.assert_allclose(divergence([inside], maps), expected, atol=NEAR)
    together = np.mean([divergence([Inside(model, params, batch(n))], maps) for n in (1000, 1000)], axis=0)
    np.testing.assert_allclose(divergence([inside, inside], maps), together, atol=NEAR)


@pytest.mark.long
def test_it_is_nearer_than_the_logit_lens_at_every_layer_on_held_out_rows(trained):
    model, params, maps = trained
    grid = comparison([Inside(model, params, batch(number)) for number in range(1000, 1004)], maps)
    assert grid.rows == ('embedded', 'layers.0', 'layers.1', 'layers.2')
    assert grid.columns == ('logit lens', 'tuned lens')
    logit, tuned = grid.values.T
    assert (tuned[:-1] < 0.9 * logit[:-1]).all(), grid.values
    np.testing.assert_allclose(grid.values[-1], 0, atol=NEAR)


@pytest.mark.long
def test_without_training_it_is_the_logit_lens(trained):
    model, params, maps = trained
    inside = Inside(model, params, tuple(jax.tree.map(lambda leaf: leaf[:1], batch(1000))))
    reading, tokenizer = Reading(inside.arguments, {'': tuple('abcdefgh')}), Word(vocabulary=V)
    tokenizer = tokenizer.train(['a b c d e f g h i j k'])
    plain = logit_lens(inside, reading, tokenizer)
    zeros = logit_lens(inside, reading, tokenizer, LayerMaps.zeros(inside))
    tuned = logit_lens(inside, reading, tokenizer, maps)
    np.testing.assert_allclose(zeros.values, plain.values, atol=NEAR)
    assert (plain.title, tuned.title) == ('Logit lens', 'Tuned lens')
    np.testing.assert_allclose(tuned.values[-1], plain.values[-1], atol=NEAR)
    assert np.abs(tuned.values[:-1] - plain.values[:-1]).max() > 0.01


@pytest.mark.long
def test_padding_is_not_trained_on():
    """A row of padding only has no weight: the maps are those of the other rows."""
    model = decoder(layers=1)
    params = drawn(model, *batch(0))
    tokens, context = batch(1)
    none = np.array(context.segments)
    none[0] = 0
    alike = [
        tune([Inside(model, params, (tokens.at[0].set(number), LayerContext(context.positions, none)))], 1)
        for number in (1, 2)
    ]
    np.testing.assert_array_equal(alike[0].kernel, alike[1].kernel)
    assert np.abs(alike[0].kernel).max() > 0


def test_it_reads_the_tokens_and_the_context_of_a_batch():
    tokens, context = batch(0)
    row = {'tokens': tokens, 'positions': jnp.array(context.positions), 'segments': jnp.array(context.segments)}
    given = read_by(CausalLM(), decoder(layers=1), {}, row).arguments
    assert len(given) == 2
    np.testing.assert_array_equal(given[0], tokens[:, :-1])
    assert isinstance(given[1], LayerContext)


def test_a_model_that_predicts_no_tokens_is_refused():
    encoder = build({
        'use': 'model.encoder:Encoder', 'context_length': 16, 'width': D, 'layers': 1, 'vocabulary': V,
        'block': {'use': 'block.pre_norm:PreNorm', 'mixer': {'use': 'attention.multi_head:MultiHead', 'heads': 4}},
    })()  # fmt: skip
    given = batch(0)
    with pytest.raises(UserError, match='predicts no tokens'):
        tune([Inside(encoder, drawn(encoder, *given), given)], 1)
