# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Log-linear Mamba-2: log2(length) memories, one for each scale of distance, weighted by each token.

    head = sum over s <= t of w_t[level(t, s)] (a_(s+1) ... a_t) (q_t.k_s) d_s v_s + w_n v_t
    w_t = softplus(g * (x_t Wl)) for each level of each head,   level(t, s) = bit_length(t xor s);   else as in Mamba-2

Guo et al. 2025, "Log-Linear Attention", section 3, https://arxiv.org/abs/2506.04761; the weights follow the authors'
code, with g [N J+1] trained from ones. Near tokens are in small blocks, far ones in large blocks: block j
has 2^j tokens and a memory (`ops.log_linear`). With all weights 1 it is `attention.mamba2:Mamba2`. A document has at
most `length` tokens, 2^J or fewer. No cross-attention and no scores. Cost: B T N H V J for whole rows, and the
projections; the decoding state is B J N H V.
"""

import dataclasses
from typing import ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array

from saccade.attention.mamba2 import Mamba2
from saccade.axes import parameter
from saccade.ops.log_linear import LevelState, blocks_of, retain_by_level
from saccade.types import Capabilities, Count, Hidden, LayerContext, Part, Queries, State, UserError

__all__ = ['LogLinearMamba2']


class LogLinearMamba2(Mamba2):
    """Log-linear Mamba-2 mixer.

    Attributes: the attributes of Mamba2; length, the number of tokens of the longest row.
    """

    length: Count

    capabilities: ClassVar[Capabilities] = dataclasses.replace(
        Mamba2.capabilities, time='B T N H V log T', memory='B T N (V + log T)', state='N H V log T'
    )
    example: ClassVar[dict] = Mamba2.example | {'length': 128}

    def empty_memory(self, batch: int, heads: int, width: int, value_width: int) -> LevelState:
        """Return the memories before the first token."""
        return LevelState.empty(batch, heads, width, value_width, blocks_of(self.length))

    def init_state(self, x: Hidden, capacity: int) -> State:
        """Return the empty state, whose size does not depend on the capacity.

        Raises:
            UserError: the capacity exceeds `length`.
        """
        self._require_length(capacity)
        return super().init_state(x, capacity)

    def retained(
        self, x: Hidden, q: Queries, k: Queries, v: Array, log_decay: Array, context: LayerContext, state: LevelState
    ) -> tuple[Array, LevelState]:
        """Add k v^T to the decaying memories and read them by level; return the output and the new memories.

        Raises:
            UserError: there are more tokens than `length`.
        """
        self._require_length(x.shape[1])
        shape = (self.heads, blocks_of(self.length) + 1)
        scale = parameter(self, 'level_scale', 'N X', nn.initializers.ones, shape, dtype=jnp.float32)
        logits = self.projected('level', 'D -> N X', x, shape).astype(jnp.float32)
        weights = self.tap('level_weights', 'B T N X', jax.nn.softplus(scale * logits))
        return retain_by_level(q, k, v, log_decay, weights, context.numbered, state, self.chunk)

    def _require_length(self, tokens: int) -> None:
        if tokens > self.length:
            raise UserError(f'{Part(type(self)).name}: {tokens} tokens exceed the length of {self.length}')
