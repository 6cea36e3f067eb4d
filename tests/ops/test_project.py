# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Linear maps against einsum, forward and backward."""

import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest

from saccade.ops.project import merge_heads, project

NEAR = 1e-5
B, T, D, N, H = 2, 3, 8, 4, 6


def normal(number, *shape):
    return jnp.array(np.random.default_rng(number).normal(size=shape), jnp.float32)


MAPS = {
    'flat': (project, 'btd,df->btf', (B, T, D), (D, H)),
    'heads': (project, 'btd,dnh->btnh', (B, T, D), (D, N, H)),
    'tokens': (project, 'td,df->tf', (T, D), (D, H)),
    'merge': (merge_heads, 'btnh,nhd->btd', (B, T, N, H), (N, H, D)),
}


@pytest.mark.parametrize('name', MAPS)
def test_values_and_gradients_are_those_of_einsum(name):
    function, letters, x_shape, kernel_shape = MAPS[name]
    x, kernel = normal(0, *x_shape), normal(1, *kernel_shape)

    def run(linear):
        y = linear(x, kernel)
        return y, jax.grad(lambda x, kernel: jnp.sin(linear(x, kernel)).sum(), argnums=(0, 1))(x, kernel)

    given, expected = run(function), run(lambda x, kernel: jnp.einsum(letters, x, kernel))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=NEAR), given, expected)


@pytest.mark.parametrize('dtypes', [('bfloat16', 'bfloat16'), ('bfloat16', 'float32'), ('float32', 'bfloat16')])
def test_gradients_have_the_dtype_of_what_they_are_of(dtypes):
    x, kernel = jnp.ones((B, T, D), dtypes[0]), jnp.ones((D, H), dtypes[1])
    assert project(x, kernel).dtype == jnp.result_type(*dtypes)
    gradients = jax.grad(lambda x, kernel: project(x, kernel).sum().astype(jnp.float32), argnums=(0, 1))(x, kernel)
    assert [gradient.dtype for gradient in gradients] == list(dtypes)


def test_shapes_are_checked_while_testing():
    with pytest.raises(jaxtyping.TypeCheckError):
        merge_heads(jnp.ones((B, T, N, H)), jnp.ones((N, H + 1, D)))
    with pytest.raises(jaxtyping.TypeCheckError):
        project(jnp.ones((B, T, D)), jnp.ones((D + 1, H)))
