# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Convolution along the tokens of packed rows, without taps on padding or other documents."""

import math

import jax
import jax.numpy as jnp
from einops import rearrange
from jaxtyping import Array, Float, Int

from saccade.ops.project import project

DIRECT = 16  # tokens of a block that is convolved without Fourier transforms


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
    for tap, factors in enumerate(jax.lax.split(kernel, (1,) * taps)):  # unlike slices, with one gradient for all
        here = slice(tap, tap + T)
        read = jnp.where((segments[:, here] == own)[..., None], x[:, here], 0.0)
        y = y + (project(read, factors[0]) if kernel.ndim == 3 else read.astype(wide) * factors[0]).astype(wide)
    return y.astype(dtype)


def convolve_long(
    x: Float[Array, 'B T D'], segments: Int[Array, 'B T'], kernel: Float[Array, 'S D']
) -> Float[Array, 'B T D']:
    """Return y_t = sum over s <= t of kernel_(t-s) x_s, by Fourier transforms, in float32, or float64 if x is.

    A block of 2 n tokens is two blocks of n, and the first half's share of the second, by a transform of 2 n tokens. So
    no rounding error carries a later token, or another document, into an output, as in one transform of the row. Cost:
    B D T log^2 T in time, B D T log T in memory.

    Args:
        segments: a token reads only tokens of its own segment, which are contiguous.
        kernel: factor of each feature by distance, 0 from S on.
    """
    T, levels = x.shape[1], math.ceil(math.log2(max(x.shape[1] / DIRECT, 1)))
    row = DIRECT << levels
    x, kernel = x.astype(jnp.promote_types(x.dtype, jnp.float32)), jnp.pad(kernel, ((0, row), (0, 0)))[:row]
    x, segments = jnp.pad(x, ((0, 0), (0, row - T), (0, 0))), jnp.pad(segments, ((0, 0), (0, row - T)))
    blocks = segments * (row // DIRECT) + jnp.arange(row) // DIRECT
    ends = (DIRECT - 1, 0)
    near = kernel[:DIRECT][::-1]
    y = convolve(jnp.pad(x, ((0, 0), ends, (0, 0))), jnp.pad(blocks, ((0, 0), ends), constant_values=-1), near, ends[0])
    x, y, kernel = (rearrange(each, '... T D -> ... D T') for each in (x, y, kernel))
    for level in range(levels):
        size = DIRECT << level
        first, second = rearrange(segments, 'B (C half t) -> half B 1 C t', half=2, t=size)
        read = jnp.where(first == first[..., -1:], rearrange(x, 'B D (C half t) -> half B D C t', half=2, t=size)[0], 0)
        shares = jnp.fft.rfft(read, 2 * size) * jnp.fft.rfft(kernel[:, : 2 * size])[:, None]
        share = jnp.where(second == first[..., -1:], jnp.fft.irfft(shares, 2 * size)[..., size:], 0)
        y = y + rearrange(jnp.stack([jnp.zeros_like(share), share]), 'half B D C t -> B D (C half t)')
    return rearrange(y, 'B D T -> B T D')[:, :T]


def convolve_newest(
    x: Float[Array, 'B T D'], segments: Int[Array, 'B T'], kernel: Float[Array, 'S D']
) -> Float[Array, 'B 1 D']:
    """Return the last output of `convolve_long`, with work of T D per row."""
    read = jnp.where((segments == segments[:, -1:])[..., None], x, 0)[:, -len(kernel) :]
    taps = kernel[: read.shape[1]][::-1]
    return jnp.einsum('BTD,TD->BD', read.astype(jnp.promote_types(x.dtype, jnp.float32)), taps)[:, None]


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
