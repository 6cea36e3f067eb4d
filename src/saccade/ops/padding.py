# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Padding (segment 0): moving it to the end of rows, and masked means."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from saccade.types import Total


def padding_last(segments: Int[Array, 'B T']) -> Int[Array, 'B T']:
    """Return, for each row, the order of indices with tokens first, in order, and padding last."""
    return jnp.argsort(segments == 0, axis=-1, stable=True)


def token_mean(x: Float[Array, '...'], real: Bool[Array, '...']) -> Float[Array, '...']:
    """Return the mean of x over the leading axes (the axes of `real`), where `real` is True; 0 without tokens."""
    where = real.reshape(*real.shape, *(1,) * (x.ndim - real.ndim))
    return jnp.where(where, x, 0.0).sum(axis=tuple(range(real.ndim))) / jnp.maximum(real.sum(), 1)


def token_total(x: Float[Array, '...'], real: Bool[Array, '...']) -> Total:
    """Return the `Total` of the mean of x over real tokens; x has the shape of `real`."""
    return Total(jnp.where(real, x, 0.0).sum(), _count(real))


def of_tokens(mean: Float[Array, ''], real: Bool[Array, '...']) -> Total:
    """Return the `Total` of a mean over tokens, weighted by their number."""
    return Total(mean * _count(real), _count(real))


def _count(real: Bool[Array, '...']) -> Float[Array, '']:
    return real.sum().astype(jnp.float32)
