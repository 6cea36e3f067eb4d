# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Padding, which is segment 0: move it to the end of rows, and leave it out of means."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from saccade.types import Total


def padding_last(segments: Int[Array, 'B T']) -> Int[Array, 'B T']:
    """Return, for each row, the order of its places that keeps tokens in theirs and puts padding after them."""
    return jnp.argsort(segments == 0, axis=-1, stable=True)


def token_mean(x: Float[Array, '...'], real: Bool[Array, '...']) -> Float[Array, '...']:
    """Return the mean of x over the leading axes, those of `real`, where that is True; 0 where it nowhere is."""
    where = real.reshape(*real.shape, *(1,) * (x.ndim - real.ndim))
    return jnp.where(where, x, 0.0).sum(axis=tuple(range(real.ndim))) / jnp.maximum(real.sum(), 1)


def token_total(x: Float[Array, '...'], real: Bool[Array, '...']) -> Total:
    """Return the total of the mean of x, of the shape of `real`, over the tokens where that is True."""
    return Total(jnp.where(real, x, 0.0).sum(), _count(real))


def of_tokens(mean: Float[Array, ''], real: Bool[Array, '...']) -> Total:
    """Return the total of a number that is a mean over tokens already, or that weighs as much as one."""
    return Total(mean * _count(real), _count(real))


def _count(real: Bool[Array, '...']) -> Float[Array, '']:
    return real.sum().astype(jnp.float32)
