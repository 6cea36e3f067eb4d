# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Blockwise attention with an online softmax (FlashAttention): equal to `plain`, in memory linear in T.

    m, l, y  <-  running maximum, normaliser and output of  softmax(scale Q K^T + terms, masked) V

Dao et al. 2022, "FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness", algorithm 1,
https://arxiv.org/abs/2205.14135
Ours visits only the pairs of blocks with an allowed pair and supports every mask, score term and online softmax,
including trained ones. Cost: B N T S in time (without masked blocks), B N T H in memory. It cannot return weights.
"""

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from saccade.attention.base import ScoreKernel
from saccade.attention.plain import Plain
from saccade.ops import block_sparse, blockwise, gathered
from saccade.ops.blocks import ChosenBlocks
from saccade.ops.gathered import ChosenTokens
from saccade.ops.scoring import Scoring
from saccade.ops.selection import by_blocks_of_queries
from saccade.softmax.softmax import Softmax
from saccade.types import (
    Capabilities,
    Count,
    Keys,
    Mixed,
    OnlineSoftmax,
    OnlineSoftmaxVariant,
    Part,
    Queries,
    QueryIndex,
    UserError,
    Values,
)

__all__ = ['Blockwise']


class Blockwise(ScoreKernel):
    """Blockwise attention kernel with an online softmax.

    Also called: flash, FlashAttention, memory efficient.

    Attributes: as every score kernel has; query_block, tokens in a block of queries; key_block, in one of keys.
    """

    softmax: Part[OnlineSoftmaxVariant] = Part(Softmax)
    query_block: Count = 256
    key_block: Count = 256

    capabilities: ClassVar[Capabilities] = Capabilities(time='B N T S', memory='B N T H', state='S K H')

    def require_served(self, q: Queries, k: Keys, v: Values, scoring: Scoring) -> None:
        """Check that the softmax variant has an online form, and the sizes of the blocks.

        Raises:
            UserError: the softmax variant has no online form, or a block is empty.
        """
        if not isinstance(scoring.softmax, OnlineSoftmax):
            name = Part(type(scoring.softmax)).name
            raise UserError(f'attention.blockwise:Blockwise needs an online softmax, which {name} is not')

    def attend(self, q: Queries, k: Keys, v: Values, scoring: Scoring) -> Mixed:
        """Attend block by block."""
        return blockwise.attend(q, k, v, scoring, self.query_block, self.key_block)

    def block_sizes(self, T: int, S: int) -> tuple[int, int]:
        """Return the tokens in a block of queries and in one of keys."""
        return self.query_block, self.key_block

    def attend_to_blocks(self, q: Queries, k: Keys, v: Values, scoring: Scoring, chosen: ChosenBlocks) -> Mixed:
        """Attend to the chosen blocks only."""
        if scoring.tap is not None:
            return Plain(parent=None).attend_to_blocks(q, k, v, self.noted(scoring), chosen)
        return block_sparse.attend_to_blocks(q, k, v, scoring, chosen, self.query_block, self.key_block)

    def attend_to_tokens(
        self, q: Queries, k: Keys, v: Values, scoring: Scoring, chosen: ChosenTokens
    ) -> tuple[Mixed, Float[Array, 'B T C']]:
        """Gather the chosen keys and attend to these only; return the output and their weights.

        In a prompt whose groups of heads choose apart, masking blocks of scores costs less than the copies of keys.
        """
        masked = Plain(parent=None).attend_to_tokens
        if scoring.tap is not None:
            return masked(q, k, v, self.noted(scoring), chosen)
        if q.shape[1] == 1 or chosen.at.shape[1] == 1:
            return gathered.attend_to_tokens(q, k, v, scoring, chosen)

        def block(q: Queries, at: Int[Array, 'B T J C'], index: QueryIndex) -> tuple[Mixed, Float[Array, 'B T C']]:
            return masked(q, k, v, scoring, ChosenTokens(jnp.swapaxes(at, 1, 2), index, chosen.k_index))

        index = jnp.broadcast_to(chosen.q_index, q.shape[:2])
        return by_blocks_of_queries(block, self.query_block, q, jnp.swapaxes(chosen.at, 1, 2), index)
