# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Rotations by position, of which rotary and sinusoidal schemes are made."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from saccade.types import Queries


def frequencies(width: int, base: float) -> Float[Array, 'half']:
    """Radians a token, one for each pair of features: base^(-2c/width)."""
    return base ** (-jnp.arange(0, width, 2, dtype=jnp.float32) / width)


def angles(positions: Int[Array, 'B T'], width: int, base: float) -> Float[Array, 'B T half']:
    return positions[..., None].astype(jnp.float32) * frequencies(width, base)


def rotate(x: Queries, angle: Float[Array, 'B T half']) -> Queries:
    """Rotate feature c against feature c + H/2 by the angle of pair c, in float32."""
    first, second = jnp.split(x.astype(jnp.float32), 2, axis=-1)
    sine, cosine = jnp.sin(angle)[..., None, :], jnp.cos(angle)[..., None, :]
    turned = [first * cosine - second * sine, second * cosine + first * sine]
    return jnp.concatenate(turned, axis=-1).astype(x.dtype)
