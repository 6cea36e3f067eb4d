# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Softmax over allowed keys, with a backward pass that keeps nothing but the weights."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


@jax.custom_vjp
def masked_softmax(scores: Float[Array, '*B T S'], allowed: Bool[Array, '*#B T S']) -> Float[Array, '*B T S']:
    """Softmax over the last axis of the allowed entries; a row in which nothing is allowed is all zeros."""
    return _weights(scores, allowed)


def _weights(scores: Array, allowed: Array) -> Array:
    scores = jnp.where(allowed, scores, -jnp.inf)
    highest = jax.lax.stop_gradient(jnp.max(scores, axis=-1, keepdims=True))
    exponentials = jnp.exp(scores - jnp.where(jnp.isfinite(highest), highest, 0.0))
    total = jnp.sum(exponentials, axis=-1, keepdims=True)
    return exponentials / jnp.where(total > 0, total, 1.0)


def _forward(scores: Array, allowed: Array) -> tuple[Array, Array]:
    weights = _weights(scores, allowed)
    return weights, weights


def _backward(weights: Array, dweights: Array) -> tuple[Array, None]:
    inner = jnp.sum(dweights * weights, axis=-1, keepdims=True)
    return weights * (dweights - inner), None


masked_softmax.defvjp(_forward, _backward)
