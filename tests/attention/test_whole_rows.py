# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Mixers of whole rows by their equations, and their refusals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.attention.fourier import Fourier
from saccade.attention.spatial_gating import SpatialGating
from saccade.attention.token_mixing import TokenMixing
from saccade.norm.layer import LayerNorm
from saccade.ops.activation import gelu
from saccade.types import LayerContext, Source, UserError

F32_RELATIVE = 1e-5  # of the largest element
B, T, D = 2, 7, 6
POSITIONS = jnp.broadcast_to(jnp.arange(T), (B, T))


def normal(*shape):
    return np.random.default_rng(0).normal(size=shape)


def assert_near(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0, atol=F32_RELATIVE * np.abs(expected).max())


def test_fourier_mixing_is_a_sum_of_cosines_less_one_of_sines():
    def angles(count):
        return 2 * np.pi * np.outer(np.arange(count), np.arange(count)) / count

    x, tokens, features = normal(B, T, D), angles(T), angles(D)
    expected = np.cos(tokens) @ x @ np.cos(features) - np.sin(tokens) @ x @ np.sin(features)
    assert_near(Fourier().apply({}, jnp.asarray(x, jnp.float32)), expected)


def test_fourier_mixing_has_no_parameters():
    assert jax.eval_shape(lambda: Fourier().init(jax.random.key(0), jnp.zeros((B, T, D)))) == {}


# Outputs of an input of `waves` with parameters of `waves`, LayerNorm's at the start. 'token mixing': MlpBlock of
# google-research/big_vision at 1c965d1, on swapped axes. 'spatial gating': GatedMlp and SpatialGatingUnit, timm 1.0.31.
RECORDED = {
    'token mixing': [
        [1.59482, 0.137295, -0.866865, -0.873169],
        [-1.852537, -2.289898, -1.470239, -0.965599],
        [-3.596681, -2.611769, -0.721882, -0.170261],
        [-2.034052, -0.532392, 0.69017, 0.781614],
        [1.398674, 2.036464, 1.467683, 1.014876],
    ],
    'spatial gating': [
        [-0.10218, 2.820726, 3.15027, 0.58347],
        [-0.346943, 0.28978, 0.66008, 0.423506],
        [0.398809, 0.803171, 0.469101, -0.296258],
        [-0.192816, -0.701803, -0.565556, 0.090661],
        [-0.208732, 0.867618, 1.146284, 0.371062],
    ],
}


def waves(*shape, start=0):
    return jnp.array(np.sin(start + np.arange(np.prod(shape))).reshape(shape), jnp.float32)


@pytest.mark.oracle_of('attention.token_mixing:TokenMixing', by='google-research/big_vision')
def test_outputs_of_token_mixing_are_recorded_ones():
    params = {
        'up': waves(5, 3, start=1),
        'up_bias': waves(3, start=2),
        'output': waves(3, 5, start=3),
        'output_bias': waves(5, start=4),
    }
    y = TokenMixing(length=5, hidden=3).apply({'params': params}, waves(1, 5, 4))
    np.testing.assert_allclose(y[0], RECORDED['token mixing'], atol=1e-5)


@pytest.mark.oracle_of('attention.spatial_gating:SpatialGating', by='timm')
def test_outputs_of_spatial_gating_are_recorded_ones():
    params = {
        'up': waves(4, 6, start=1),
        'up_bias': waves(6, start=2),
        'norm': {'scale': jnp.ones(3), 'bias': jnp.zeros(3)},
        'gate': waves(5, 5, start=3),
        'gate_bias': waves(5, start=4),
        'output': waves(3, 4, start=5),
        'output_bias': waves(4, start=6),
    }
    module = SpatialGating(length=5, ratio=1.5, activation=gelu, norm=LayerNorm(epsilon=1e-5))
    y = module.apply({'params': params}, waves(1, 5, 4))
    np.testing.assert_allclose(y[0], RECORDED['spatial gating'], atol=1e-5)


@pytest.mark.long
def test_token_mixing_of_a_short_row_is_that_of_one_followed_by_zeros():
    x, mixer = jnp.asarray(normal(B, T, D), jnp.float32), TokenMixing(length=9, hidden=5)
    padded = jnp.pad(x, ((0, 0), (0, 2), (0, 0)))
    y, params = mixer.init_with_output(jax.random.key(0), padded)
    assert_near(mixer.apply(params, x), y[:, :T])


@pytest.mark.long
def test_spatial_gating_starts_as_a_layer_of_each_token():
    x, mixer = jnp.asarray(normal(B, T, D), jnp.float32), SpatialGating(length=9)
    y, params = mixer.init_with_output(jax.random.key(0), x)
    np.testing.assert_allclose(mixer.apply(params, x[:, ::-1])[:, ::-1], y, atol=1e-4)


@pytest.mark.parametrize('name', ['TokenMixing', 'SpatialGating'])
def test_rows_longer_than_the_length_are_refused(name):
    with pytest.raises(UserError, match=f'{name}: 10 tokens exceed the length of 9'):
        MIXERS[name].init(jax.random.key(0), jnp.zeros((B, 10, D)))


MIXERS = {
    'Fourier': Fourier(),
    'TokenMixing': TokenMixing(length=9, hidden=5),
    'SpatialGating': SpatialGating(length=9),
}


@pytest.mark.parametrize('name', MIXERS)
@pytest.mark.parametrize(
    ('context', 'words'),
    [
        (LayerContext(POSITIONS, jnp.ones((B, T), int)), 'cannot tell segments apart'),
        (LayerContext(POSITIONS, source=Source(jnp.zeros((B, 3, D)), POSITIONS[:, :3])), 'no.* cross-attention'),
    ],
    ids=['segments', 'source'],
)
def test_refusals(name, context, words):
    with pytest.raises(UserError, match=f'attention.*{name} .*{words}'):
        MIXERS[name].init(jax.random.key(0), jnp.zeros((B, T, D)), context)


@pytest.mark.parametrize('name', MIXERS)
def test_rows_of_one_segment_are_mixed_whole(name):
    x, mixer = jnp.asarray(normal(B, T, D), jnp.float32), MIXERS[name]
    y, params = mixer.init_with_output(jax.random.key(0), x)
    context = LayerContext(POSITIONS, jnp.ones((B, T), int), one_segment=True)
    np.testing.assert_array_equal(mixer.apply(params, x, context), y)
