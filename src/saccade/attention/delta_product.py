# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""DeltaProduct: DeltaNet with several updates per token, so that state transitions include rotations and permutations.

    S_t = A_t S_(t-1) + writes,   A_t = (I - b_M k_M k_M^T) .. (I - b_1 k_1 k_1^T) a_t

M successive updates, each with its own key, value and b from 0 to 2, as in `attention.delta:Delta`.

Siems et al. 2025, "DeltaProduct: Improving State-Tracking in Linear RNNs via Householder Products", section 3,
https://arxiv.org/abs/2502.10297; with `decay` and a gate it is their Gated DeltaProduct, with `convolution` as
published. M = 1 is DeltaNet. The cost is DeltaNet's for M T tokens. No cross-attention and no scores. The decoding
state is B N H V.
"""

from typing import ClassVar

import jax.numpy as jnp
from einops import rearrange
from jaxtyping import Array

from saccade.attention.delta import Delta
from saccade.ops.delta import correct_repeatedly, unit
from saccade.ops.linear_attention import Memory
from saccade.types import Count, Hidden, LayerContext, Queries

__all__ = ['DeltaProduct']


class DeltaProduct(Delta):
    """DeltaProduct mixer.

    Attributes: the attributes of Delta; updates per token (M).
    """

    negative_eigenvalues: bool = True
    updates: Count = 2

    example: ClassVar[dict] = Delta.example | {'updates': 2}

    def head_counts(self) -> tuple[int, int, int]:
        """Return how many heads of queries, of keys and of values a token has."""
        queries, keys, values = super().head_counts()
        return queries, self.updates * keys, self.updates * values

    def update_state(
        self, x: Hidden, q: Queries, k: Array, v: Array, context: LayerContext, state: Memory
    ) -> tuple[Array, Memory]:
        """Apply a token's updates; return the heads' output [B T N V] and the new memory.

        Args:
            k, v: [B T M*N _], the heads of each update concatenated.
        """
        q, k, v = (self.activation(y.astype(jnp.float32)) for y in (q, k, v))
        write = self.write_shares(x, self.updates)
        log_decay = self.log_decay(x, k.shape[-1]) if self.decay else jnp.zeros(q.shape[:3])
        k, v, write = (rearrange(y, 'B T (M N) ... -> B T M N ...', M=self.updates) for y in (unit(k), v, write))
        return correct_repeatedly(unit(q), k, v, write, log_decay, context.numbered, state, self.chunk)
