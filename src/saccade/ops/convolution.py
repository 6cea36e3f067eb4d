# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Convolution along the tokens of packed rows, without taps on padding or other documents."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from saccade.ops.project import project


def convolve(
    x: Float[Array, 'B _ D'], segments: Int[Array, 'B _'], kernel: Float[Array, 'M *D'], before: int
) -> Float[Array, 'B T D']:
    """Return the sum over M taps of a token times its tap: a factor for each feature (depthwise), or a matrix.

    Args:
        kernel: taps, oldest first: [M D] factors, [M B T D] factors of each token, or [M D D] matrices.
            They are added in float32, and the sum is rounded once.
        x, segments: values and segments of T + M - 1 tokens; the first output belongs to the token at index `before`.
    """
    taps = kernel.shape[0]
    T = x.shape[1] - taps + 1
    own = segments[:, before : before + T]
    dtype = jnp.result_type(x, kernel)
    wide, y = jnp.promote_types(dtype, jnp.float32), 0.0
    for tap in range(taps):
        here = slice(tap, tap + T)
        read = jnp.where((segments[:, here] == own)[..., None], x[:, here], 0.0)
        y = y + (project(read, kernel[tap]) if kernel.ndim == 3 else read.astype(wide) * kernel[tap]).astype(wide)
    return y.astype(dtype)


def token_before(
    x: Float[Array, 'B T D'], segments: Int[Array, 'B T'], newest: Float[Array, 'B D'], of: Int[Array, 'B']
) -> tuple[Float[Array, 'B T D'], Float[Array, 'B D']]:
    """Return the previous token of the same segment (0 for the first of a segment), and the new newest token.

    Padding (segment 0) may be between tokens of a segment.

    Args:
        newest: last token before these that is not padding.
        of: its segment, 0 if there is none.
    """
    x = jnp.concatenate([newest[:, None].astype(x.dtype), x], axis=1)
    segments = jnp.concatenate([of[:, None], segments], axis=1)
    places = jnp.where(segments != 0, jnp.arange(segments.shape[1]), 0)
    last = jax.lax.cummax(places, axis=1)
    read = jnp.take_along_axis(x, last[..., None], axis=1)
    same = jnp.take_along_axis(segments, last, axis=1)[:, :-1] == segments[:, 1:]
    return jnp.where(same[..., None], read[:, :-1], 0.0), read[:, -1]
