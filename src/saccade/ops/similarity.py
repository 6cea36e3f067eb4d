# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Similarity of vectors; for vectors of norm 1 the dot product is the cosine."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from saccade.types import UserError

__all__ = ['unit_normal']

_LEAST = 1e-12  # of a squared norm: a vector of zeros stays what it is, and has a finite gradient


def normalised(x: Float[Array, '*B D']) -> Float[Array, '*B D']:
    """Normalise vectors to norm 1, in float32; zero vectors stay zero."""
    x = x.astype(jnp.float32)
    return x / jnp.sqrt(jnp.maximum((x**2).sum(axis=-1, keepdims=True), _LEAST))


def unit_normal(axis: int) -> Callable[..., Array]:
    """Return an initialiser of uniformly distributed unit vectors along an axis.

    Raises:
        UserError: raised by the initialiser if the array has no such axis.
    """

    def make(key: Array, shape: tuple[int, ...], dtype: Any = jnp.float32) -> Array:
        if not -len(shape) <= axis < len(shape):
            raise UserError(f'ops.similarity:unit_normal: axis {axis} is none of the {len(shape)} axes of {shape}')
        drawn = jnp.moveaxis(jax.random.normal(key, shape), axis, -1)
        return jnp.moveaxis(normalised(drawn), -1, axis).astype(dtype)

    return make


def cosine(x: Float[Array, '*B D'], y: Float[Array, '*B D']) -> Float[Array, '*B']:
    """Return the cosine of corresponding vectors; 0 if either is zero."""
    return jnp.einsum('...D,...D->...', normalised(x), normalised(y))


def distance(x: Float[Array, '*B D'], y: Float[Array, '*B D']) -> Float[Array, '*B']:
    """Return the Euclidean distance of corresponding vectors, in float32."""
    difference = x.astype(jnp.float32) - y.astype(jnp.float32)
    return jnp.sqrt(jnp.maximum((difference**2).sum(axis=-1), _LEAST))
