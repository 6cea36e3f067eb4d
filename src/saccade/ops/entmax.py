# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Entmax over allowed keys by bisection, with a backward pass that stores only the weights."""

import functools
import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

HALVINGS = 30  # the threshold lies in an interval shorter than 1, so this is below the rounding of float32


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def masked_entmax(
    alpha: float, scores: Float[Array, '*B T S'], allowed: Bool[Array, '*#B T S']
) -> Float[Array, '*B T S']:
    """Entmax over the last axis of the allowed entries; a row without allowed entries is all zeros.

    Args:
        alpha: exponent, above 1 and at most 2.
    """
    scores = jnp.where(allowed, scores, -jnp.inf)
    highest = jnp.max(scores, axis=-1, keepdims=True)
    scaled = (alpha - 1) * (scores - jnp.where(jnp.isfinite(highest), highest, 0.0))

    def weights(threshold: Array) -> Array:
        # A power would be inexact near alpha = 1.
        return jnp.exp(jnp.log1p(jnp.maximum(scaled - threshold, -1.0)) / (alpha - 1))

    def halve(number: Array, low: Array) -> Array:
        middle = low + most * jnp.exp2(-1.0 - number)
        return jnp.where(jnp.sum(weights(middle), axis=-1, keepdims=True) >= 1, middle, low)

    # At 0 the highest score has weight 1 by itself; at the other end S equal highest scores have total weight 1.
    most = -math.expm1((1 - alpha) * math.log(scores.shape[-1]))
    found = weights(jax.lax.fori_loop(0, HALVINGS, halve, jnp.zeros_like(highest)))
    total = jnp.sum(found, axis=-1, keepdims=True)
    return found / jnp.where(total > 0, total, 1.0)


def _forward(alpha: float, scores: Array, allowed: Array) -> tuple[Array, Array]:
    weights = masked_entmax(alpha, scores, allowed)
    return weights, weights


def _backward(alpha: float, weights: Array, dweights: Array) -> tuple[Array, None]:
    slope = jnp.where(weights > 0, jnp.where(weights > 0, weights, 1.0) ** (2 - alpha), 0.0)
    total = jnp.sum(slope, axis=-1, keepdims=True)
    mean = jnp.sum(slope * dweights, axis=-1, keepdims=True) / jnp.where(total > 0, total, 1.0)
    return slope * (dweights - mean), None


masked_entmax.defvjp(_forward, _backward)
