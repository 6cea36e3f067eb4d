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


def _forward(logits: Array, targets: Array, smoothing: float) -> tuple[Array, tuple[Array, Array, Array]]:
    wide = logits.astype(jnp.float32)
    log_total = jax.nn.logsumexp(wide, axis=-1)
    hit = jnp.take_along_axis(wide, targets[..., None], axis=-1)[..., 0]
    expected = (1.0 - smoothing) * hit + (smoothing * wide.mean(axis=-1) if smoothing else 0.0)
    return log_total - expected, (logits, targets, log_total)


def _backward(smoothing: float, saved: tuple[Array, Array, Array], dloss: Array) -> tuple[Array, None]:
    logits, targets, log_total = saved
    probabilities = jnp.exp(logits.astype(jnp.float32) - log_total[..., None])
    hit = targets[..., None] == jnp.arange(logits.shape[-1])
    wanted = (1.0 - smoothing) * hit + smoothing / logits.shape[-1]
    return ((probabilities - wanted) * dloss[..., None]).astype(logits.dtype), None


cross_entropy.defvjp(_forward, _backward)
