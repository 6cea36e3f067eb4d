# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""GELU against its definition, and what its backward pass keeps."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.ops.activation import gelu

NEAR = 2e-6
X = np.concatenate([np.linspace(-9, 9, 1801), [-100.0, 100.0]])
CDF = np.array([math.erfc(-x / math.sqrt(2)) / 2 for x in X])
SLOPE = CDF + X * np.exp(-(X**2) / 2) / math.sqrt(2 * math.pi)


def test_value():
    np.testing.assert_allclose(gelu(jnp.float32(X)), X * CDF, atol=NEAR)


def test_gradient():
    slope = jax.vmap(jax.grad(gelu))(jnp.float32(X))
    np.testing.assert_allclose(slope, SLOPE, atol=NEAR)


@pytest.mark.parametrize('dtype', [jnp.bfloat16, jnp.float16])
def test_computes_in_float32(dtype):
    x = jnp.array(X, dtype)
    y, backward = jax.vjp(gelu, x)
    (slope,) = backward(jnp.ones_like(x))
    assert y.dtype == slope.dtype == dtype
    wide = x.astype(jnp.float32)
    np.testing.assert_array_equal(y, gelu(wide).astype(dtype))
    np.testing.assert_array_equal(slope, jax.vmap(jax.grad(gelu))(wide).astype(dtype))


def test_backward_pass_keeps_nothing_but_x():
    x = jnp.ones((3, 5))
    kept = jax.tree.leaves(jax.vjp(gelu, x)[1])
    assert [leaf.shape for leaf in kept] == [x.shape]
