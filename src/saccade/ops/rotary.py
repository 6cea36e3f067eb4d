# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Rotations by position, of which rotary and sinusoidal schemes are made.

Frequencies are constants of the model: they are worked out in float64 while tracing, and rounded once.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from saccade.types import Queries, UserError

Frequencies = Float[np.ndarray, 'half']


def frequencies(width: int, base: float) -> Frequencies:
    """Radians a token, one for each pair of features: base^(-2c/width)."""
    return base ** (-np.arange(0, width, 2) / width)


def linear(frequencies: Frequencies, factor: float) -> Frequencies:
    """Stretch every wavelength by the factor (Chen et al. 2023, equation 4, https://arxiv.org/abs/2306.15595).

    Raises:
        UserError: the factor is not positive.
    """
    if factor <= 0:
        raise UserError(f'ops.rotary:linear: factor must be positive, not {factor}')
    return frequencies / factor


def llama3(frequencies: Frequencies, factor: float, low: float, high: float, context: int) -> Frequencies:
    """Stretch by the factor what turns less than `low` times in the context; leave what turns more than `high`.

    Between the two the frequency is interpolated. It is that of Llama 3.1, as its authors released it (Grattafiori
    et al. 2024, https://arxiv.org/abs/2407.21783).

    Args:
        low, high: turns within the context.
        context: the length first trained on, in tokens.

    Raises:
        UserError: the factor or the context is not positive, or low is not below high.
    """
    if factor <= 0 or context <= 0:
        raise UserError(f'ops.rotary:llama3: factor {factor} and context {context} must be positive')
    if low >= high:
        raise UserError(f'ops.rotary:llama3: low {low} must be less than high {high}')
    turns = context * frequencies / (2 * np.pi)
    kept = np.clip((turns - low) / (high - low), 0.0, 1.0)
    return frequencies * (kept + (1 - kept) / factor)


def turn(positions: Int[Array, 'B T'], frequencies: Frequencies) -> Float[Array, 'B T half']:
    """The angle of each position, in radians."""
    return positions[..., None].astype(jnp.float32) * jnp.asarray(frequencies, jnp.float32)


def angles(positions: Int[Array, 'B T'], width: int, base: float) -> Float[Array, 'B T half']:
    return turn(positions, frequencies(width, base))


def rotate(x: Queries, angle: Float[Array, 'B T half']) -> Queries:
    """Rotate feature c against feature c + H/2 by the angle of pair c, in float32."""
    first, second = jnp.split(x.astype(jnp.float32), 2, axis=-1)
    sine, cosine = jnp.sin(angle)[..., None, :], jnp.cos(angle)[..., None, :]
    turned = [first * cosine - second * sine, second * cosine + first * sine]
    return jnp.concatenate(turned, axis=-1).astype(x.dtype)
