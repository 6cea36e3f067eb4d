# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The masked softmax and its own backward pass."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.ops.softmax import masked_softmax

EXACT = 1e-6
RANDOM = np.random.default_rng(0)
SCORES = jnp.array(5.0 * RANDOM.normal(size=(2, 3, 4, 6)), jnp.float32)
DIRECTION = jnp.array(RANDOM.normal(size=SCORES.shape), jnp.float32)
ALLOWED = jnp.array(RANDOM.random((2, 1, 4, 6)) < 0.6).at[0, 0, 1].set(False).at[:, :, 0].set(True)


def naive(scores):
    weights = jnp.where(ALLOWED, jax.nn.softmax(jnp.where(ALLOWED, scores, -1e30)), 0.0)
    return weights


def test_values():
    np.testing.assert_allclose(masked_softmax(SCORES, ALLOWED), naive(SCORES), atol=EXACT)


@pytest.mark.long
def test_gradients():
    given = jax.grad(lambda scores: (DIRECTION * masked_softmax(scores, ALLOWED)).sum())(SCORES)
    expected = jax.grad(lambda scores: (DIRECTION * naive(scores)).sum())(SCORES)
    assert jnp.abs(expected).max() > 0.1
    np.testing.assert_allclose(given, expected, atol=EXACT)


def test_a_row_where_nothing_is_allowed_is_zero_and_has_no_gradient():
    given, gradient = jax.value_and_grad(lambda scores: masked_softmax(scores, ALLOWED)[0, :, 1].sum())(SCORES)
    assert given == 0.0
    np.testing.assert_array_equal(gradient, 0.0)


def test_large_scores_do_not_overflow():
    everything = jnp.ones((1, 2), bool)
    np.testing.assert_array_equal(masked_softmax(jnp.array([[1e30, -1e30]]), everything), [[1.0, 0.0]])


@pytest.mark.long
def test_a_sink_is_one_more_column_that_is_dropped():
    """In values and in gradients, by the scores and by the sink."""
    sink = jnp.array([0.5, -1.0, 2.0])

    def with_column(scores, sink):
        column = jnp.broadcast_to(sink[:, None, None], (2, 3, 4, 1))
        wide = jnp.concatenate([jnp.where(ALLOWED, scores, -1e30), column], axis=-1)
        return jnp.where(ALLOWED, jax.nn.softmax(wide)[..., :-1], 0.0)

    def run(weigh):
        return jax.value_and_grad(lambda *given: (DIRECTION * weigh(*given)).sum(), argnums=(0, 1))(SCORES, sink)

    given = run(lambda scores, sink: masked_softmax(scores, ALLOWED, sink[:, None, None]))
    jax.tree.map(lambda one, two: np.testing.assert_allclose(one, two, atol=1e-5), given, run(with_column))
    assert jnp.abs(given[1][1]).min() > 0.01
