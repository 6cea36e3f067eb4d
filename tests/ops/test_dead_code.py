# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Functions without the computations that their results do not depend on."""

import jax
import jax.numpy as jnp
import numpy as np

from saccade.ops.dead_code import without_dead_code
from saccade.ops.flops import flops

X = jnp.arange(6.0).reshape(2, 3)


@jax.jit
def both(x):
    def body(carry, row):
        return carry @ carry.T @ carry, row.sum()

    return jax.lax.scan(body, jnp.eye(3), x)


def test_products_that_no_result_needs_are_gone_from_loops_and_compiled_functions():
    sums = without_dead_code(lambda given: {'sums': both(given['x'])[1]})
    np.testing.assert_allclose(sums({'x': X})['sums'], X.sum(axis=1))
    assert flops(lambda x: both(x)[1], X) > 0
    assert flops(sums, {'x': X}) == 0
    assert flops(without_dead_code(both), X) == flops(both, X)


def test_it_may_be_traced_with_what_it_closes_over():
    def loss(scale):
        return without_dead_code(lambda x: scale * x)(X).sum()

    assert jax.jit(jax.grad(loss))(2.0) == X.sum()
