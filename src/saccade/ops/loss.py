# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Losses of logits, in nats."""

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def cross_entropy(
    logits: Float[Array, '*B V'], targets: Int[Array, '*B'], smoothing: float = 0.0
) -> Float[Array, '*B']:
    """Cross-entropy of each target, in float32 nats; nothing but the logits is kept for the backward pass.

    With smoothing e the target distribution is (1 - e) one-hot + e / V (Szegedy et al. 2016, section 7).
    """
    return _forward(logits, targets, smoothing)[0]


def _forward(logits: Array, targets: Array, smoothing: float) -> tuple[Array, tuple[Array, Array, Array, Array]]:
    wide = logits.astype(jnp.float32)
    # Kept apart from the log of the sum, which would lose its digits beside a large maximum.
    highest = wide.max(axis=-1)
    total = jnp.exp(wide - highest[..., None]).sum(axis=-1)
    hit = jnp.take_along_axis(wide, targets[..., None], axis=-1)[..., 0]
    expected = (1.0 - smoothing) * (hit - highest)
    if smoothing:
        expected += smoothing * (wide - highest[..., None]).mean(axis=-1)
    return jnp.log(total) - expected, (logits, targets, highest, total)


def _backward(smoothing: float, saved: tuple[Array, Array, Array, Array], dloss: Array) -> tuple[Array, None]:
    logits, targets, highest, total = saved
    probabilities = jnp.exp(logits.astype(jnp.float32) - highest[..., None]) / total[..., None]
    hit = targets[..., None] == jnp.arange(logits.shape[-1])
    wanted = (1.0 - smoothing) * hit + smoothing / logits.shape[-1]
    return ((probabilities - wanted) * dloss[..., None]).astype(logits.dtype), None


cross_entropy.defvjp(_forward, _backward)
