# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Convolution along the tokens of packed rows: no tap reaches into padding or another document."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from saccade.ops.project import project


def convolve(
    x: Float[Array, 'B _ D'], segments: Int[Array, 'B _'], kernel: Float[Array, 'M *D'], before: int
) -> Float[Array, 'B T D']:
    """Return the sum over M taps of a token times its tap: a factor for each feature (depthwise), or a matrix.

    Args:
        x, segments: of T + M - 1 tokens; the first output is of the token after `before` of them.
    """
    taps = kernel.shape[0]
    T = x.shape[1] - taps + 1
    own = segments[:, before : before + T]
    y = 0.0
    for tap in range(taps):
        here = slice(tap, tap + T)
        read = jnp.where((segments[:, here] == own)[..., None], x[:, here], 0.0)
        y = y + (read * kernel[tap] if kernel.ndim == 2 else project(read, kernel[tap]))
    return y
