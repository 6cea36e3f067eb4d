# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Pools of tokens: what is not there counts for nothing."""

import jax.numpy as jnp
import numpy as np
import pytest

from saccade.ops.pool import first, maximum, mean, mean_after_first

X = jnp.array(np.random.default_rng(0).normal(size=(2, 5, 3)), jnp.float32) - 3.0
THERE = jnp.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], bool)

each_pool = pytest.mark.parametrize(
    ('pool', 'of'),
    [
        (first, lambda x: x[0]),
        (mean, lambda x: x.mean(axis=0)),
        (mean_after_first, lambda x: x[1:].mean(axis=0)),
        (maximum, lambda x: x.max(axis=0)),
    ],
)


@each_pool
@pytest.mark.parametrize('padding', [0.0, 99.0, jnp.nan])
def test_it_is_of_what_is_there_whatever_the_padding_holds(pool, of, padding):
    x = jnp.where(THERE[..., None], X, padding)
    expected = [of(np.asarray(row)[np.asarray(there)]) for row, there in zip(X, THERE, strict=True)]
    np.testing.assert_allclose(pool(x, THERE), expected, rtol=1e-6)


@each_pool
def test_without_padding_it_is_of_all(pool, of):
    np.testing.assert_allclose(pool(X), [of(np.asarray(row)) for row in X], rtol=1e-6)
    np.testing.assert_allclose(pool(X), pool(X, jnp.ones((2, 5), bool)), rtol=1e-6)


@pytest.mark.parametrize('pool', [mean, mean_after_first, maximum])
def test_a_row_of_nothing_gives_zero(pool):
    np.testing.assert_array_equal(pool(X, jnp.zeros((2, 5), bool)), 0.0)
