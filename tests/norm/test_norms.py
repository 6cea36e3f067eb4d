# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Each normalisation against its equation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.norm.layer import LayerNorm
from saccade.norm.rms import RMSNorm

NEAR = 1e-5
D = 6
RANDOM = np.random.default_rng(0)
X = jnp.array(3.0 * RANDOM.normal(size=(2, 4, D)) + 1.0, jnp.float32)
SCALE, BIAS = (jnp.array(RANDOM.normal(size=D), jnp.float32) for _ in range(2))


def layer_norm(x, epsilon):
    x = np.asarray(x, np.float64)
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + epsilon)


def rms_norm(x, epsilon):
    x = np.asarray(x, np.float64)
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + epsilon)


@pytest.mark.parametrize('epsilon', [1e-5, 1.0])
def test_layer_norm(epsilon):
    y = LayerNorm(epsilon).apply({'params': {'scale': SCALE, 'bias': BIAS}}, X)
    np.testing.assert_allclose(y, SCALE * layer_norm(X, epsilon) + BIAS, atol=NEAR)


@pytest.mark.parametrize('epsilon', [1e-6, 1.0])
def test_rms_norm(epsilon):
    y = RMSNorm(epsilon).apply({'params': {'scale': SCALE}}, X)
    np.testing.assert_allclose(y, SCALE * rms_norm(X, epsilon), atol=NEAR)


def test_rms_norm_is_layer_norm_where_the_mean_is_zero():
    centred = X - X.mean(axis=-1, keepdims=True)
    layer, rms = LayerNorm(1e-6, scale=False, bias=False), RMSNorm(1e-6, scale=False)
    np.testing.assert_allclose(rms.apply({}, centred), layer.apply({}, centred), atol=NEAR)
    assert jnp.abs(rms.apply({}, X) - layer.apply({}, X)).max() > 0.1


@pytest.mark.parametrize(
    ('norm', 'names'),
    [
        (LayerNorm(), {'scale', 'bias'}),
        (LayerNorm(bias=False), {'scale'}),
        (LayerNorm(scale=False, bias=False), set()),
        (RMSNorm(), {'scale'}),
        (RMSNorm(scale=False), set()),
    ],
)
def test_parameters_can_be_left_out(norm, names):
    params = norm.init(jax.random.key(0), X).get('params', {})
    assert params.keys() == names
    assert all(leaf.shape == (D,) for leaf in params.values())


@pytest.mark.parametrize(('norm', 'exact'), [(LayerNorm(), layer_norm), (RMSNorm(), rms_norm)])
def test_statistics_are_in_float32(norm, exact):
    x = (100.0 + X).astype(jnp.bfloat16)
    y = norm.apply(norm.init(jax.random.key(0), x), x)
    np.testing.assert_array_equal(y, jnp.array(exact(x, 1e-5), jnp.bfloat16))
