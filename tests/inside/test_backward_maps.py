# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Attention maps of a mixer in both directions: the backward half is that of the text read from its end."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.build import build
from saccade.inside.activations import Inside
from saccade.inside.attention import maps_of
from saccade.inside.reading import Reading
from saccade.types import LayerContext

pytestmark = pytest.mark.long

T, D, N, V = 7, 16, 4, 11
NEAR = 1e-5
TOKENS = np.random.default_rng(0).integers(0, V, T)
ROTARY = {'use': 'position.rotary:Rotary'}
MIXERS = {
    'softmax': {'use': 'attention.multi_head:MultiHead', 'heads': N, 'position': ROTARY,
                'kernel': {'use': 'attention.plain:Plain'}, 'mask': {'use': 'ops.mask:Causal'}},
    'gated linear': {'use': 'attention.gated_linear:GatedLinear', 'heads': N, 'chunk': 4},
    'delta rule': {'use': 'attention.delta:Delta', 'heads': N, 'chunk': 4},
}  # fmt: skip
ROWS = {'whole': [1] * T, 'padded': [1] * 5 + [0] * 2, 'packed': [1] * 3 + [2] * 4, 'padded first': [0] * 2 + [1] * 5}


def encoder(mixer):
    block = {'use': 'block.pre_norm:PreNorm', 'mixer': mixer}
    return build({
        'use': 'model.encoder:Encoder', 'context_length': T, 'width': D, 'layers': 1, 'vocabulary': V, 'block': block,
    })()  # fmt: skip


def counted(segments):
    """Positions from 0 in each text, and in padding."""
    return np.concatenate([np.arange(len(part)) for part in np.split(segments, np.flatnonzero(np.diff(segments)) + 1)])


def attention(inside, name):
    labels = {'': tuple(f't{number}' for number in range(inside.arguments[0].shape[1]))}
    (found,) = (one for one in maps_of(inside, Reading(inside.arguments, labels)) if one.name == name)
    return found


def given(tokens, segments):
    segments = np.array(segments)
    return jnp.array(tokens)[None], LayerContext(jnp.array(counted(segments))[None], jnp.array(segments)[None])


@pytest.fixture(scope='module', params=MIXERS)
def models(request):
    """A model in both directions and its parameters; and a model of its backward half alone."""
    both = encoder({'use': 'attention.both_directions:BothDirections', 'mixer': MIXERS[request.param]})
    shapes = jax.eval_shape(lambda: both.init(jax.random.key(0), *given(TOKENS, ROWS['whole'])))['params']
    random = np.random.default_rng(1)
    params = jax.tree.map(lambda leaf: jnp.array(random.normal(size=leaf.shape, scale=0.4), leaf.dtype), shapes)
    (block,) = params['layers'].values()
    alone = params | {'layers': {'pattern_0': block | {'mixer': block['mixer']['backward']}}}
    return both, params, encoder(MIXERS[request.param]), alone


@pytest.mark.parametrize('row', ROWS)
def test_it_is_the_map_of_the_text_turned_round(models, row):
    both, params, one, alone = models
    segments = np.array(ROWS[row])
    found = attention(Inside(both, params, given(TOKENS, segments)), 'layers.0.mixer.backward')
    expected = attention(Inside(one, alone, given(TOKENS[::-1], segments[::-1])), 'layers.0.mixer')
    np.testing.assert_allclose(found.weights, expected.weights[:, ::-1, ::-1], atol=NEAR)
    real = segments != 0
    apart = segments[:, None] != segments
    assert np.abs(found.weights[:, real][:, :, real]).max() > 0.1
    assert np.abs(found.weights[:, np.tri(T, k=-1, dtype=bool)]).max() < NEAR  # only later tokens
    assert np.abs(found.weights[:, apart & real[:, None]]).max(initial=0.0) < NEAR
    assert found.queries == found.keys == tuple(f't{number}' for number in range(T))


@pytest.mark.parametrize('row', ['padded', 'padded first'])
def test_padding_does_not_change_it(models, row):
    both, params, one, alone = models
    real = np.array(ROWS[row]) != 0
    tokens = TOKENS[real]
    found = attention(Inside(both, params, given(TOKENS, ROWS[row])), 'layers.0.mixer.backward')
    expected = attention(Inside(one, alone, given(tokens[::-1], np.ones(5, int))), 'layers.0.mixer')
    np.testing.assert_allclose(found.weights[:, real][:, :, real], expected.weights[:, ::-1, ::-1], atol=NEAR)
