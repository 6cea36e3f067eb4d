# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""MoBA, mixture of block attention: each query attends to its own block of keys and to the best-matching blocks.

    y_i = softmax(scale q_i K_I^T) V_I,    I = the keys j <= i of i's own block, and those of the (chosen - 1) blocks b
    before it with the largest q_i . mean_{j in b} k_j

Lu et al. 2025, "MoBA: Mixture of Block Attention for Long-Context LLMs", section 2.2, https://arxiv.org/abs/2502.13189
Blocks are counted from the first token of a segment; those before the own one are whole, so a row of any packing has at
most S / block of them. Each query head chooses separately, after the positions; no gradient flows through the choice.
The own block is one of the `chosen`, as in the authors' code. The inner kernel `attention.blockwise:Blockwise` scores
only chosen blocks (`ops.block_sparse`); `attention.plain:Plain`, the reference, masks the others. Cost in time:
B N T H (chosen + 1) block, and B N T H S / block for the choice; in memory B N T (H + chosen).
It supports `ops.mask:Causal`, packed and padded, and only self-attention without score terms.
"""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from saccade.attention.base import ScoreKernel, require_own
from saccade.attention.blockwise import Blockwise
from saccade.attention.cache import KVCache, heads_first
from saccade.ops.blocks import ChosenBlocks, Runs, Tokens, best_blocks
from saccade.ops.gathered import ChosenTokens
from saccade.ops.reach import reach_of
from saccade.ops.scoring import Scoring, grouped_products
from saccade.ops.selection import by_blocks_of_queries
from saccade.types import (
    CachedKeys,
    Capabilities,
    Count,
    Keys,
    LayerContext,
    Mixed,
    Part,
    Queries,
    Rows,
    SparseKernel,
    Values,
)

__all__ = ['MoBA']


class MoBA(ScoreKernel):
    """MoBA kernel: attention to a few blocks of keys.

    Also called: mixture of block attention, block sparse.

    Attributes: as in ScoreKernel; block, tokens of a block; chosen, how many blocks a query attends to at most, its
    own included; inner, the kernel that attends to them.
    """

    block: Count
    chosen: Count
    inner: Part[SparseKernel] = Part(Blockwise)

    capabilities: ClassVar[Capabilities] = Capabilities(
        full=False,
        cross=False,
        terms=False,
        equivariant=False,
        time='B N T S',
        memory='B N T H',
        state='S K H',
    )
    rows: ClassVar[Rows] = Rows(dense=False, continuous=False)
    example: ClassVar[dict[str, Any]] = {'block': 2, 'chosen': 3}

    def __call__(self, q: Queries, k: Keys, v: Values, scoring: Scoring, train: bool = False) -> Mixed:
        segments = reach_of(self, scoring, q, k).segments
        tokens = Tokens.alone(k.shape[1]) if segments is None else Tokens.of_rows(segments.k_segments)
        kernel, scoring = self._inner(q, k, v, scoring, train)
        return kernel.attend_to_blocks(q, k, v, scoring, self._chosen(kernel, q, k, tokens, tokens))

    def step(
        self, q: Queries, k: CachedKeys, v: Values, scoring: Scoring, state: KVCache, context: LayerContext
    ) -> tuple[Mixed, KVCache]:
        """Add a chunk's keys and values to the KV cache and attend to its blocks; return output and new cache."""
        reach_of(self, scoring, q, k)
        kernel, scoring = self._inner(q, k, v, scoring, False)
        after = state.append(k, v, scoring.features, context)
        cache = after.whole()
        queries, slots = Tokens(context.positions, context.numbered), Tokens(cache.positions, cache.segments)
        k, v = heads_first(cache.keys()), heads_first(cache.values())
        places = self._chosen(kernel, q, k, queries, slots).places()
        chosen = ChosenTokens(places, queries.positions, slots.positions)
        return kernel.attend_to_tokens(q, k, v, scoring, chosen)[0], after

    def _inner(
        self, q: Queries, k: CachedKeys, v: Values, scoring: Scoring, train: bool
    ) -> tuple[SparseKernel, Scoring]:
        """Return the inner kernel, and the complete scoring, which it supports."""
        require_own(Part(type(self)).name, self.inner)
        kernel, scoring = self.inner(parent=None), self.complete(scoring, q.shape[-2], train)
        kernel.require_served(q, k, v, scoring)
        return kernel, scoring

    def _chosen(self, kernel: SparseKernel, q: Queries, k: Keys, queries: Tokens, keys: Tokens) -> ChosenBlocks:
        """Return the blocks that each query chooses."""
        whole = Runs.of(keys, self.block, self.block)
        q, means = jax.lax.stop_gradient((q, whole.gather(k.astype(jnp.float32)).mean(axis=2)))

        def best(q: Queries, queries: Tokens) -> Int[Array, 'B T N C']:
            fit = grouped_products(q.astype(jnp.float32), means)
            return jnp.swapaxes(best_blocks(fit, whole, queries, self.chosen - 1), 1, 2)

        index = by_blocks_of_queries(best, kernel.block_sizes(q.shape[1], k.shape[1])[0], q, queries)
        return ChosenBlocks(queries, keys, whole, jnp.swapaxes(index, 1, 2))
