# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Cross-entropy against optax, and its own backward pass against the naive form."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from saccade.ops.loss import cross_entropy

NEAR = 1e-5
BF16_NEAR = 1e-2
V = 7
RANDOM = np.random.default_rng(0)
LOGITS = jnp.array(3.0 * RANDOM.normal(size=(2, 5, V)), jnp.float32)
TARGETS = jnp.array(RANDOM.integers(0, V, (2, 5)))
WEIGHTS = jnp.array(RANDOM.normal(size=(2, 5)), jnp.float32)


def naive(logits, smoothing):
    wanted = optax.smooth_labels(jax.nn.one_hot(TARGETS, V), smoothing)
    return optax.softmax_cross_entropy(logits, wanted)


@pytest.mark.parametrize('smoothing', [0.0, 0.1])
def test_values_and_gradients(smoothing):
    def given(logits):
        return cross_entropy(logits, TARGETS, smoothing)

    np.testing.assert_allclose(given(LOGITS), naive(LOGITS, smoothing), atol=NEAR)
    gradient = jax.grad(lambda logits: (WEIGHTS * given(logits)).sum())(LOGITS)
    expected = jax.grad(lambda logits: (WEIGHTS * naive(logits, smoothing)).sum())(LOGITS)
    np.testing.assert_allclose(gradient, expected, atol=NEAR)


@pytest.mark.parametrize('smoothing', [0.0, 0.1])
def test_large_logits_lose_no_digits(smoothing):
    """What all logits are raised by does not matter; these are exact in float32, raised or not."""
    low = jnp.round(LOGITS * 64) / 64

    def run(logits):
        return jax.value_and_grad(lambda logits: (WEIGHTS * cross_entropy(logits, TARGETS, smoothing)).sum())(logits)

    for found, expected in zip(run(low + 8192.0), run(low), strict=True):
        np.testing.assert_allclose(found, expected, atol=NEAR)


def test_smoothing_is_szegedys():
    e, log_p = 0.2, jax.nn.log_softmax(LOGITS)
    hit = np.take_along_axis(np.asarray(log_p), np.asarray(TARGETS)[..., None], axis=-1)[..., 0]
    expected = -(1 - e) * hit - e * log_p.mean(axis=-1)
    np.testing.assert_allclose(cross_entropy(LOGITS, TARGETS, e), expected, atol=NEAR)


def test_bfloat16_logits_are_summed_in_float32():
    low = LOGITS.astype(jnp.bfloat16)
    loss, gradient = jax.value_and_grad(lambda logits: cross_entropy(logits, TARGETS).sum())(low)
    assert loss.dtype == jnp.float32
    assert gradient.dtype == jnp.bfloat16
    np.testing.assert_allclose(loss, naive(low.astype(jnp.float32), 0.0).sum(), rtol=NEAR)
    exact = jax.grad(lambda logits: naive(logits, 0.0).sum())(low.astype(jnp.float32))
    np.testing.assert_allclose(gradient.astype(jnp.float32), exact, atol=BF16_NEAR)


def test_equal_logits_cost_log_v():
    np.testing.assert_allclose(cross_entropy(jnp.full((1, V), 50.0), jnp.array([3])), np.log(V), rtol=NEAR)
