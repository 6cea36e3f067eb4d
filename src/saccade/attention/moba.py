# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""MoBA, mixture of block attention: each query attends to its own block of keys and to the best-matching blocks.

    y_i = softmax(scale q_i K_I^T) V_I,    I = the keys j <= i of i's own block, and those of the (chosen - 1) blocks b
    before it with the largest q_i . mean_{j in b} k_j

Lu et al. 2025, "MoBA: Mixture of Block Attention for Long-Context LLMs", section 2.2, https://arxiv.org/abs/2502.13189
Blocks are counted from the first token of a segment. Each query head chooses separately, after the positions, and
no gradient flows through the choice. The own block is one of the `chosen`, as in the authors' code. Ours is a
softmax over all scores with the other blocks masked, so time and memory are not reduced. Cost:
B N T S in memory; in time an additional product of queries with block means, as many as keys in packed rows.
It supports `ops.mask:Causal`, packed and padded, and only self-attention without score terms.
"""

from typing import Any, ClassVar

import jax.numpy as jnp

from saccade.attention.base import ScoreKernel
from saccade.attention.cache import KVCache, heads_first
from saccade.ops.blocks import Blocks, Tokens
from saccade.ops.reach import reach_of
from saccade.ops.scoring import Scoring, grouped_products
from saccade.types import (
    CachedKeys,
    Capabilities,
    Count,
    Keys,
    LayerContext,
    Mixed,
    Pairs,
    Queries,
    Rows,
    Values,
)

__all__ = ['MoBA']


class MoBA(ScoreKernel):
    """MoBA kernel: attention to a few blocks of keys.

    Also called: mixture of block attention, block sparse.

    Attributes: as in ScoreKernel; block, tokens of a block; chosen, how many blocks a query attends to at most, its
    own included.
    """

    block: Count
    chosen: Count

    capabilities: ClassVar[Capabilities] = Capabilities(
        full=False,
        cross=False,
        terms=False,
        equivariant=False,
        time='B N T S',
        memory='B N T S',
        state='S K H',
    )
    rows: ClassVar[Rows] = Rows(dense=False, continuous=False)
    example: ClassVar[dict[str, Any]] = {'block': 2, 'chosen': 3}

    def __call__(self, q: Queries, k: Keys, v: Values, scoring: Scoring, train: bool = False) -> Mixed:
        segments = reach_of(self, scoring, q, k).segments
        numbers = jnp.ones((1, k.shape[1]), jnp.int32) if segments is None else segments.k_segments
        tokens, scoring = Tokens.of_rows(numbers), self.complete(scoring, q.shape[-2], train)
        return self._attend(q, k, v, scoring, tokens, tokens, segments is not None)

    def step(
        self, q: Queries, k: CachedKeys, v: Values, scoring: Scoring, state: KVCache, context: LayerContext
    ) -> tuple[Mixed, KVCache]:
        """Add a chunk's keys and values to the KV cache and attend to its blocks; return output and new cache."""
        reach_of(self, scoring, q, k)
        after, scoring = state.append(k, v, scoring.features, context), self.complete(scoring, q.shape[-2], False)
        queries = Tokens(context.positions, context.numbered)
        cache = after.whole()
        k, v, slots = heads_first(cache.k), heads_first(cache.v), Tokens(cache.positions, cache.segments)
        return self._attend(q, k, v, scoring, queries, slots, True), after

    def _attend(
        self, q: Queries, k: Keys, v: Values, scoring: Scoring, queries: Tokens, keys: Tokens, packed: bool
    ) -> Mixed:
        blocks = Blocks.of(keys, self.block, packed)
        before = blocks.before(queries)[:, None]
        fit = jnp.where(before > 0, grouped_products(q.astype(jnp.float32), blocks.means(k)), -jnp.inf)
        chosen = blocks.keys_of_best(jnp.where(before == 0, jnp.inf, fit), self.chosen)
        places = jnp.arange(q.shape[1]), jnp.arange(k.shape[1])
        pairs = Pairs(*places, queries.causal(keys) & chosen, scoring.scale)
        return scoring.attend(q, k, v, pairs)[0]
