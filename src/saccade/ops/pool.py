# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Pooling of a row of tokens to one vector. Padding is excluded from means and maxima."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Num

__all__ = ['first', 'last', 'maximum', 'mean', 'mean_after_first']

There = Bool[Array, 'B T'] | None


def first(x: Float[Array, 'B T D'], there: There = None, /) -> Float[Array, 'B D']:
    """Return the first token of the row, [CLS]."""
    return x[:, 0]


def mean(x: Float[Array, 'B T D'], there: There = None, /) -> Float[Array, 'B D']:
    """Return the mean of the tokens, without padding; 0 for a row of padding alone."""
    if there is None:
        return x.mean(axis=-2)
    kept = jnp.where(there[..., None], x, 0.0)
    return kept.sum(axis=-2) / jnp.maximum(there.sum(axis=-1, keepdims=True), 1).astype(x.dtype)


def mean_after_first(x: Float[Array, 'B T D'], there: There = None, /) -> Float[Array, 'B D']:
    """Return the mean of the tokens after the first, as of the patches after a class token; without padding."""
    return mean(x[:, 1:], None if there is None else there[:, 1:])


def maximum(x: Float[Array, 'B T D'], there: There = None, /) -> Float[Array, 'B D']:
    """Return the maximum of each feature over the tokens, without padding; 0 for a row of padding alone."""
    if there is None:
        return x.max(axis=-2)
    largest = jnp.where(there[..., None], x, -jnp.inf).max(axis=-2)
    return jnp.where(there.any(axis=-1, keepdims=True), largest, 0.0)


def last(x: Num[Array, 'B T D'], there: There = None, /) -> Num[Array, 'B D']:
    """Return the last token of the row that is no padding; the first place of a row of padding alone."""
    if there is None:
        return x[:, -1]
    places = jnp.where(there, jnp.arange(x.shape[1]), 0).max(axis=-1)
    return jnp.take_along_axis(x, places[:, None, None], axis=1)[:, 0]
