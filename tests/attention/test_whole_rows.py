# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Mixers of whole rows by their equations, and their refusals."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.attention.fourier import Fourier
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


MIXERS = {'Fourier': Fourier()}


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
