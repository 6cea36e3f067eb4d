# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Losses of logits, in nats."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from saccade.types import is_zero

Scale = float | Array | None  # None for zero: nothing is computed


def cross_entropy(
    logits: Float[Array, '*B V'],
    targets: Int[Array, '*B'],
    smoothing: float | Float[Array, ''] = 0.0,
    z_loss: float | Float[Array, ''] = 0.0,
) -> Float[Array, '*B']:
    """Cross-entropy of each target, in float32 nats; the backward pass stores only the logits.

    With smoothing e the target distribution is (1 - e) one-hot + e / V (Szegedy et al. 2016, section 7). With a z-loss
    z log^2(sum of exp(logits)) is added to each (Chowdhery et al. 2022, "PaLM", section 5,
    https://arxiv.org/abs/2204.02311, with z = 1e-4). Neither e nor z has a gradient; either may be traced.
    """
    smoothing, z_loss = (None if is_zero(value) else value for value in (smoothing, z_loss))
    return _cross_entropy(logits, targets, smoothing, z_loss)


@jax.custom_vjp
def _cross_entropy(logits: Array, targets: Array, smoothing: Scale, z_loss: Scale) -> Array:
    return _forward(logits, targets, smoothing, z_loss)[0]


def _forward(
    logits: Array, targets: Array, smoothing: Scale, z_loss: Scale
) -> tuple[Array, tuple[Array, Array, Array, Array, Scale, Scale]]:
    wide = logits.astype(jnp.float32)
    # Kept separate from the log of the sum, which would lose its digits when added to a large maximum.
    highest = wide.max(axis=-1)
    total = jnp.exp(wide - highest[..., None]).sum(axis=-1)
    hit = jnp.take_along_axis(wide, targets[..., None], axis=-1)[..., 0]
    expected = hit - highest
    if smoothing is not None:
        expected = (1.0 - smoothing) * expected + smoothing * (wide - highest[..., None]).mean(axis=-1)
    loss = jnp.log(total) - expected
    if z_loss is not None:
        loss += z_loss * jnp.square(jnp.log(total) + highest)
    return loss, (logits, targets, highest, total, smoothing, z_loss)


def _backward(saved: tuple[Array, Array, Array, Array, Scale, Scale], dloss: Array) -> tuple[Array, None, None, None]:
    logits, targets, highest, total, smoothing, z_loss = saved
    probabilities = jnp.exp(logits.astype(jnp.float32) - highest[..., None]) / total[..., None]
    hit = targets[..., None] == jnp.arange(logits.shape[-1])
    wanted = hit if smoothing is None else (1.0 - smoothing) * hit + smoothing / logits.shape[-1]
    if z_loss is not None:
        probabilities *= 1.0 + 2.0 * z_loss * (jnp.log(total) + highest)[..., None]
    return ((probabilities - wanted) * dloss[..., None]).astype(logits.dtype), None, None, None


_cross_entropy.defvjp(_forward, _backward)
