# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Random Synthesizer: attention scores are trained numbers of a pair of positions, the same for every sequence.

    s[n, i, j] = R[n, p_i, p_j],    or factorised  s[n, i, j] = a[n, p_i] . b[n, p_j]        p_i the position of token i

Tay et al. 2021, "Synthesizer: Rethinking Self-Attention for Transformer Models", sections 3.2 and 3.3,
https://arxiv.org/abs/2005.00743, where the rank of a and b is 8. Without a rank, a query is its row of R and a key is
one-hot, one for all heads; so masks, kernels, packed rows and the KV cache are as in multi-head attention. Cost:
that of heads as wide as the rank, or as `length` without one; N length^2 parameters, or 2 N length rank.
"""

import dataclasses
from typing import Any, ClassVar

import jax
from jaxtyping import Array, Int

from saccade.attention.synthesizer_base import SynthesizerBase
from saccade.types import CachedKeys, Capabilities, Count, Hidden, Queries

__all__ = ['RandomSynthesizer']


class RandomSynthesizer(SynthesizerBase):
    """Random Synthesizer.

    Attributes: the attributes of MultiHead, with a default scale of 1 and without `head_norm`; length, the number of
    positions; rank of a and b, None for the whole matrix R; table_init, the initialiser of R, or of a and b.
    """

    rank: Count | None = None

    capabilities: ClassVar[Capabilities] = dataclasses.replace(  # without a rank
        SynthesizerBase.capabilities, time='B N T S^2', memory='B N T S', state='S^2 + S K H'
    )
    example: ClassVar[dict[str, Any]] = {'rank': 4}

    def queries(self, x: Hidden, positions: Int[Array, 'B T']) -> Queries:
        """Return the rows of R, or of a, of these positions."""
        N, _, _ = self.sizes(x.shape[-1])
        axes, width = ('T N X', self.length) if self.rank is None else ('T N R', self.rank)
        return self.by_position('position_query', axes, (N, width), positions, x)

    def keys(self, x: Hidden, positions: Int[Array, 'B S']) -> CachedKeys:
        """Return one-hot positions, or the rows of b."""
        if self.rank is None:
            return jax.nn.one_hot(positions, self.length, dtype=x.dtype)[:, :, None]
        return self.by_position('position_key', 'T N R', (self.heads, self.rank), positions, x)

    def kv_shapes(self, D: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return heads and width of the cached keys, and of the cached values, at width D."""
        keys = (1, self.length) if self.rank is None else (self.heads, self.rank)
        return keys, super().kv_shapes(D)[1]
