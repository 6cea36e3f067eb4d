# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""MoBA, mixture of block attention: each query attends to its own block of keys and to those that fit it best.

    y_i = softmax(scale q_i K_I^T) V_I,    I = the keys j <= i of i's own block, and those of the (chosen - 1) blocks b
    before it with the largest q_i . mean_{j in b} k_j

Lu et al. 2025, "MoBA: Mixture of Block Attention for Long-Context LLMs", section 2.2, https://arxiv.org/abs/2502.13189
Blocks are counted from the first token of a segment. Each query head chooses for itself, after the positions, and
no gradient flows through the choice. The own block is one of those `chosen`, as in the authors' code. Ours is a
softmax over all scores with the other blocks masked: what the method saves in time and memory is not shown here. Cost:
B N T S in memory; in time one product of queries with block means more, which in packed rows are as many as keys.
It serves `ops.mask:Causal`, packed and padded, self-attention alone, and no score terms.
"""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from saccade.attention.base import ScoreKernel
from saccade.attention.cache import Cache, heads_first
from saccade.ops import plain
from saccade.ops.mask import Causal, SameSegment
from saccade.ops.reach import reach_of
from saccade.ops.scoring import Scoring, grouped_products
from saccade.types import (
    CachedKeys,
    Capabilities,
    Count,
    Keys,
    LayerContext,
    Mixed,
    Queries,
    Values,
    require_positive,
)


class MoBA(ScoreKernel, kw_only=True):
    """MoBA kernel: attention to a few blocks of keys.

    Attributes: those of ScoreKernel; block, tokens of a block; chosen, how many blocks a query attends to at most, its
    own included.
    """

    block: Count
    chosen: Count

    capabilities: ClassVar[Capabilities] = Capabilities(
        full=False,
        cross=False,
        terms=False,
        weights=True,
        equivariant=False,
        time='B N T S',
        memory='B N T S',
        state='S K H',
    )
    example: ClassVar[dict[str, Any]] = {'block': 2, 'chosen': 3}

    def __call__(self, q: Queries, k: Keys, v: Values, scoring: Scoring, train: bool) -> Mixed:
        segments = reach_of(self, scoring, q, k).segments
        places = jnp.arange(k.shape[1])
        if segments is None:
            positions, numbered = places[None], jnp.ones_like(places)[None]
        else:
            positions, numbered = _positions(segments.k_segments), segments.k_segments
        most = k.shape[1] if segments is not None else -(-k.shape[1] // max(self.block, 1))
        y, weights = self._attend(q, k, v, scoring, (positions, numbered), (positions, numbered), most, train)
        if self.is_mutable_collection('weights') and not self.is_initializing():
            self.sow('weights', 'attention', weights)
        return y

    def step(
        self, q: Queries, k: CachedKeys, v: Values, scoring: Scoring, state: Cache, context: LayerContext
    ) -> tuple[Mixed, Cache]:
        """Add a chunk's keys and values to the KV cache and attend to its blocks; return output and cache after it."""
        reach_of(self, scoring, q, k)
        after = state.append(k, v, context)
        tokens, slots = (context.positions, context.numbered), (after.positions, after.segments)
        k, v = heads_first(after.k), heads_first(after.v)
        return self._attend(q, k, v, scoring, tokens, slots, k.shape[1], False)[0], after

    def _attend(
        self,
        q: Queries,
        k: Keys,
        v: Values,
        scoring: Scoring,
        queries: tuple[Int[Array, '#B T'], Int[Array, '#B T']],
        keys: tuple[Int[Array, '#B S'], Int[Array, '#B S']],
        most: int,
        train: bool,
    ) -> tuple[Mixed, Array]:
        """Attend from queries to keys, of which positions and segments are given; a row has `most` blocks at most."""
        require_positive('attention.moba:MoBA', block=self.block, chosen=self.chosen)
        (q_positions, q_segments), (k_positions, k_segments) = queries, keys
        mask = SameSegment(q_segments, k_segments)(jnp.arange(q.shape[1]), jnp.arange(k.shape[1]))
        allowed = (mask & Causal()(q_positions, k_positions))[:, None]
        chosen = chosen_keys(q, k, queries, keys, self.block, self.chosen, most)
        scoring = self.complete(scoring, q.shape[-2], train)
        pairs = scoring.pairs(jnp.arange(q.shape[1]), jnp.arange(k.shape[1])).replace(allowed=allowed & chosen)
        return plain.attend_to_pairs(q, k, v, scoring, pairs)


def chosen_keys(
    q: Queries,
    k: Keys,
    queries: tuple[Int[Array, '#B T'], Int[Array, '#B T']],
    keys: tuple[Int[Array, '#B S'], Int[Array, '#B S']],
    block: int,
    chosen: int,
    most: int,
) -> Bool[Array, 'B N T S']:
    """Return which keys are in the blocks that each query chooses: its own, and earlier ones of its segment.

    An earlier block is complete, and no token of another segment is in it.

    Args:
        queries, keys: positions and segments; segment 0 is of no block.
        block: tokens of a block.
        chosen: blocks that a query chooses at most, its own included.
        most: blocks that a row has at most.
    """
    (q_positions, q_segments), (k_positions, k_segments) = queries, keys
    real = k_segments != 0
    block_of = jnp.cumsum(real & (k_positions % block == 0), axis=-1) - 1
    members = (block_of[..., None] == jnp.arange(most)) & real[..., None]  # [B S M]
    segment, number = (
        jnp.max(jnp.where(members, x[..., None], -1), axis=-2) for x in (k_segments, k_positions // block)
    )
    sums = jnp.einsum(
        'BSM,BSKH->BMKH', jnp.broadcast_to(members, (k.shape[0], *members.shape[1:])), k.astype(jnp.float32)
    )
    count = jnp.maximum(jnp.sum(members, axis=-2), 1)[..., None, None]
    fit = grouped_products(q.astype(jnp.float32), sums / count)  # [B N T M]
    same, behind = q_segments[..., None] == segment[:, None], (q_positions // block)[..., None] - number[:, None]
    fit = jnp.where((same & (behind > 0))[:, None], fit, -jnp.inf)
    fit = jnp.where((same & (behind == 0))[:, None], jnp.inf, fit)
    best, index = jax.lax.top_k(jax.lax.stop_gradient(fit), min(chosen, most))
    taken = jnp.any((index[..., None] == jnp.arange(most)) & (best > -jnp.inf)[..., None], axis=-2)  # [B N T M]
    at = jnp.clip(block_of, 0, most - 1)[:, None, None]
    return jnp.take_along_axis(taken, jnp.broadcast_to(at, (*taken.shape[:-1], at.shape[-1])), axis=-1)


def _positions(segments: Int[Array, 'B S']) -> Int[Array, 'B S']:
    """The place of each token within its segment."""
    places = jnp.arange(segments.shape[-1])
    starts = jnp.concatenate([jnp.ones_like(segments[:, :1], bool), segments[:, 1:] != segments[:, :-1]], axis=-1)
    return places - jax.lax.cummax(jnp.where(starts, places, 0), axis=1)
