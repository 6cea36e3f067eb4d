# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Convolutions of attention scores over neighbouring queries and keys, and mixes of neighbouring heads.

s'[n, i, j] = sum over a, c of kernel[n, A - 1 - a, C // 2 + c] s[n, i - a, j + c],   a = 0 .. A-1, |c| <= C // 2
"""

import jax
import jax.numpy as jnp
from einops import rearrange
from flax import struct
from jaxtyping import Array, Bool, Float, Int

from saccade.types import RowSoftmax, Scores


def convolve(scores: Scores, kernel: Float[Array, 'N A C'], segments: Int[Array, 'B T']) -> Scores:
    """Return the scores convolved over queries up to each one, and over keys on both sides.

    Args:
        kernel: the last query tap is at the query itself, the middle key tap at the key; C is odd.
        segments: segments of the queries. Taps on queries of another segment are zero.
    """
    A, C = kernel.shape[1:]
    T, S = scores.shape[-2:]
    padded = jnp.pad(scores, ((0, 0), (0, 0), (A - 1, 0), (C // 2, C // 2)))
    before = jnp.pad(segments, ((0, 0), (A - 1, 0)), constant_values=-1)

    @jax.checkpoint  # the backward pass has the shifted scores of one query tap at a time
    def add(summed: Scores, of_query: tuple[Array, Array]) -> tuple[Scores, None]:
        # Not a grouped convolution: on a mesh that replicates the scores, XLA sums the kernel's gradient over copies.
        start, factors = of_query
        rows = jax.lax.dynamic_slice_in_dim(padded, start, T, axis=2)
        over_keys = sum(factors[:, tap, None, None] * rows[..., tap : tap + S] for tap in range(C))
        same = segments == jax.lax.dynamic_slice_in_dim(before, start, T, axis=1)
        return summed + jnp.where(same[:, None, :, None], over_keys, 0.0), None

    taps = jnp.arange(A), rearrange(kernel.astype(scores.dtype), 'N A C -> A N C')
    return jax.lax.scan(add, jnp.zeros_like(scores), taps)[0]


@struct.dataclass
class Mixing:
    """Convolution of scores or weights, followed by a mix of the heads of each group.

    Attributes: kernel of the convolution, and matrix of each group of heads; None to omit one.
    """

    kernel: Float[Array, 'N A C'] | None
    heads: Float[Array, 'X M M'] | None

    def __call__(self, scores: Scores, allowed: Bool[Array, '#B #N T S'], segments: Int[Array, 'B T']) -> Scores:
        """Return the mixed scores; pairs that are not allowed are 0 in input and output."""
        if self.kernel is not None:
            scores = convolve(jnp.where(allowed, scores, 0.0), self.kernel, segments)
        if self.heads is not None:
            groups = rearrange(scores, 'B (X M) T S -> B X M T S', X=self.heads.shape[0])
            scores = jnp.einsum('BXMTS,XMN->BXNTS', groups, self.heads.astype(scores.dtype))
            scores = rearrange(scores, 'B X M T S -> B (X M) T S')
        return jnp.where(allowed, scores, 0.0)


@struct.dataclass
class MixedWeights:
    """Softmax between a mix of scores and a mix of weights; needs all queries.

    Attributes:
        segments: segments of the queries.
    """

    softmax: RowSoftmax
    before: Mixing
    after: Mixing
    segments: Int[Array, 'B T']

    def __call__(self, scores: Scores, allowed: Bool[Array, '#B #N T S']) -> Scores:
        weights = self.softmax(self.before(scores, allowed, self.segments), allowed)
        return self.after(weights, allowed, self.segments)
