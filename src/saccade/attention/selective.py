# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Selective attention: a token lowers the scores of later queries for keys that are no longer needed.

    s[n, i, j] = scale q_ni . k_nj - F_ij,    F_ij = sum over m < i of S_mj,    S_mj = relu(scale q_0m . k_0j)
    S_mj = 0 for the first token of a sequence (j = 0), for the token itself (j = m) and for what m may not attend to

Leviathan, Kalman, Matias 2024, "Selective Attention Improves Transformer", section 3, https://arxiv.org/abs/2410.02703
The scores of head 0, including terms, are the selection; F is subtracted from all heads, including head 0. No
parameters. A step caches F of each key. Without positive scores in head 0 it is multi-head attention. Cost: all scores
at once, and B T S. Ours keeps all keys: the paper's pruning of keys with large F, and its loss, are not implemented. It
supports only causal masks, and no cross-attention.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Float, Int

from saccade.attention.cache import Cache, KVCache
from saccade.attention.multi_head import MultiHead, attended_pairs
from saccade.attention.paged import in_pages
from saccade.ops.causality import require_causal_mask
from saccade.ops.scoring import Scoring
from saccade.ops.term import GivenProducts
from saccade.types import (
    CachedKeys,
    Capabilities,
    Hidden,
    LayerContext,
    Mixed,
    Pages,
    PairKernel,
    Pairs,
    Part,
    Queries,
    Scores,
    State,
    Values,
)

__all__ = ['Selective']


@struct.dataclass
class SelectiveCache:
    """KV cache with the accumulated F of each key. Attributes: kv; lowered, F so far."""

    kv: KVCache
    lowered: Float[Array, 'B S']


class Selective(MultiHead):
    """Selective attention. Attributes: the attributes of MultiHead."""

    kernel: Part[PairKernel]

    capabilities: ClassVar[Capabilities] = Capabilities(
        full=False,
        cross=False,
        scores=True,
        sums=True,
        equivariant=False,
        time='B N T S H',
        memory='B N T S',
        state='S K H',
    )
    why_not: ClassVar[dict[str, str]] = {'KVSharingMixer': 'each layer keeps what its own queries subtract'}

    def attend(
        self,
        q: Queries,
        k: CachedKeys,
        v: Values,
        scoring: Scoring,
        x: Hidden,
        context: LayerContext,
        train: bool,
        state: State | None,
    ) -> tuple[Mixed, State]:
        """Attend with scores minus F; return the output and the new cache."""
        self._check(context, scoring)
        kernel = self.kernel(name='kernel')
        if state is None:
            cache, lowered = None, jnp.zeros((x.shape[0], k.shape[1]))
        else:
            cache, lowered = state.kv, state.lowered
        scoring, k, v, pairs, kv = attended_pairs(kernel, q, k, v, scoring, context, train, cache)
        scores, _ = scoring.scores(q, k, pairs, scoring.init_carry(q))
        scores, lowered = lower(scores, pairs, context.positions if kv is None else pairs.k_index, lowered)
        scoring = scoring.replace(scale=0.0, terms=(GivenProducts(scores),))
        mixed, _ = kernel.attend_to_pairs(q, k, v, scoring, pairs.replace(scale=1.0))
        return mixed, SelectiveCache(kv, lowered)

    def init_state(self, x: Hidden, capacity: int) -> SelectiveCache:
        """Return an empty KV cache with `capacity` slots per row for any mask."""
        return SelectiveCache(Cache.empty(*self.empty_kv(x), capacity), jnp.zeros((x.shape[0], capacity)))

    def init_pages(self, x: Hidden, pages: Pages) -> SelectiveCache:
        """Return the empty KV cache in pages; F is one number a slot, which each row has for itself."""
        kv = in_pages(lambda x, capacity: self.init_state(x, capacity).kv, x, pages)
        return SelectiveCache(kv, jnp.zeros((x.shape[0], pages.capacity)))

    def _check(self, context: LayerContext, scoring: Scoring) -> None:
        context.require_no_source(Part(type(self)).name)
        require_causal_mask(Part(type(self)).name, scoring.mask)


def lower(
    scores: Scores, pairs: Pairs, key_positions: Int[Array, 'B S'], lowered: Float[Array, 'B S']
) -> tuple[Scores, Float[Array, 'B S']]:
    """Return the scores minus F, and F after the last of these queries.

    Args:
        key_positions: position of each key within its segment.
        lowered: F before the first of these queries.
    """
    others = pairs.allowed[:, 0] & (pairs.distance != 0) & (key_positions != 0)[:, None]
    selection = jnp.where(others, jax.nn.relu(scores[:, 0]), 0.0)
    after = lowered[:, None] + jnp.cumsum(selection, axis=-2)
    return scores - jnp.concatenate([lowered[:, None], after[:, :-1]], axis=-2)[:, None], after[:, -1]
