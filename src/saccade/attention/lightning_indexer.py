# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""DeepSeek sparse attention (DSA): a small indexer scores every pair, and queries attend to the top-scoring keys.

    I_ij = sum_m w_im relu(q'_im . k'_j),    y_i = attend(q_i, K_J, V_J),    J = the `chosen` keys of largest I_ij
    loss: mean over i of KL( p_i || softmax_j I_ij ),    p_i = the mean of the heads' attention weights

DeepSeek-AI 2025, "DeepSeek-V3.2: Pushing the Frontier of Open Large Language Models", section 2.1,
https://arxiv.org/abs/2512.02556. The indexer reads stop_gradient(x), and is trained only by its loss: over all keys if
`chosen` is None (the dense warm-up), else over the chosen keys. The paper uses latent attention, with indexer queries
from the latent; here it is multi-head attention, whose heads share the choice. With `attention.blockwise:Blockwise`
chosen keys are gathered (`ops.gathered`); with `attention.plain:Plain`, the reference, the others are masked. Cost:
B T chosen (N H + M X), and B T S M X for the choice, in time; memory is linear in T.
"""

from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from einops import rearrange
from flax import struct
from jaxtyping import Array, Float, Int

from saccade.attention.cache import Cache, KVCache, heads_first
from saccade.attention.multi_head import MultiHead, SharedKV, visible
from saccade.axes import flat, parameter
from saccade.ops.gathered import ChosenTokens, over_chosen
from saccade.ops.mask import ByPosition, SameSegment
from saccade.ops.padding import token_total
from saccade.ops.project import project
from saccade.ops.scoring import Scoring
from saccade.ops.selection import best_keys, relevance
from saccade.position.rotary import Rotary
from saccade.types import (
    CachedKeys,
    Capabilities,
    Count,
    Hidden,
    LayerContext,
    Mixed,
    NotNegative,
    PairPosition,
    Part,
    Queries,
    Real,
    Rows,
    SparseKernel,
    State,
    Total,
    Values,
)

__all__ = ['LightningIndexer']

_TINY, _NEVER = 1e-30, -1e30


@struct.dataclass
class IndexedCache:
    """KV cache with a cache of the indexer's keys. Attributes: kv; index, whose values have width 0."""

    kv: KVCache
    index: KVCache


class LightningIndexer(MultiHead):
    """Multi-head attention to keys chosen by a lightning indexer.

    Also called: DSA, DeepSeek sparse attention, indexer.

    Attributes: as in MultiHead; index_heads, their number (M); index_width, of each of its queries and of its one key
    a token; chosen, how many keys a query attends to at most, None for all; loss, the weight of the indexer's loss;
    index_position, of the indexer's queries and keys.
    """

    kernel: Part[SparseKernel]
    index_heads: Count
    index_width: Count
    chosen: Count | None
    loss: NotNegative = 1.0
    index_position: Part[PairPosition] = Part(Rotary)

    capabilities: ClassVar[Capabilities] = Capabilities(
        cross=False,
        scores=True,
        equivariant=False,
        time='B T S (N H + M X)',
        state='S (K H + X)',
    )
    rows: ClassVar[Rows] = Rows(dense=False, continuous=False)
    why_not: ClassVar[dict[str, str]] = {'KVSharingMixer': 'each layer caches the keys of its own indexer'}
    example: ClassVar[dict[str, Any]] = {'index_heads': 3, 'index_width': 2, 'chosen': 4}

    def project(self, x: Hidden, context: LayerContext, made: SharedKV | None) -> tuple[Queries, CachedKeys, Values]:
        """Return queries, keys and values.

        Raises:
            UserError: the context has a source.
        """
        context.require_no_source(Part(type(self)).name)
        return super().project(x, context, made)

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
        """Attend to the chosen keys; return the output and the new cache. Reports the indexer's loss."""
        kernel = self.kernel(name='kernel')
        (index_q, index_k), weight = self._indexer(x, context)
        if state is None:
            scoring = kernel.complete(visible(scoring, context), q.shape[-2], train)
            at = self._chosen(kernel, index_q, index_k, weight, scoring)
            places = jnp.arange(k.shape[1])
            mixed, weights = kernel.attend_to_tokens(q, k, v, scoring, ChosenTokens(at, places, places))
            if not self.is_initializing():
                loss = divergence(weights, index_q, index_k, weight, at, context.real)
                self.sow('losses', 'indexer', loss.times(self.loss))
            return mixed, state
        after = IndexedCache(
            state.kv.append(k, v, scoring.features, context),
            state.index.append(index_k, index_k[..., :0], {}, context),
        )
        cache = after.kv.whole()
        slots = SameSegment(context.numbered, cache.segments)
        mask = ByPosition(scoring.mask, context.positions, cache.positions, aligned=False) & slots
        scoring = kernel.complete(scoring, q.shape[-2], False).replace(mask=mask, features=cache.features)
        at = self._chosen(kernel, index_q, heads_first(after.index.whole().k), weight, scoring)
        chosen = ChosenTokens(at, context.positions, cache.positions)
        return kernel.attend_to_tokens(q, heads_first(cache.k), heads_first(cache.v), scoring, chosen)[0], after

    def init_state(self, x: Hidden, capacity: int) -> IndexedCache:
        """Return an empty KV cache, and one of the indexer's keys, with `capacity` slots per row for any mask."""
        kv, index = self.empty_kv(x), jnp.zeros((*x.shape[:2], 1, self.index_width), x.dtype)
        return IndexedCache(Cache.empty(*kv, capacity), Cache.empty(index, index[..., :0], {}, capacity))

    def _indexer(
        self, x: Hidden, context: LayerContext
    ) -> tuple[tuple[Queries, Float[Array, 'B T 1 H']], Float[Array, 'B T N']]:
        """Return the indexer's queries and keys, and the weights of its heads."""
        x, D, M, X = jax.lax.stop_gradient(x), x.shape[-1], self.index_heads, self.index_width
        init = flat(self.kernel_init, 1)
        q = project(x, parameter(self, 'index_query', 'D -> N H', init, (D, M, X)))
        k = project(x, parameter(self, 'index_key', 'D -> H', init, (D, X)))[:, :, None]
        position = self.index_position(name='index_position')
        weight = project(x, parameter(self, 'index_weight', 'D -> N', init, (D, M)))
        return position.rotate(q, k, context.positions, context.positions), weight

    def _chosen(
        self,
        kernel: SparseKernel,
        q: Queries,
        k: Float[Array, 'B S 1 H'],
        weight: Float[Array, 'B T N'],
        scoring: Scoring,
    ) -> Int[Array, 'B 1 T C']:
        """Return the indices of the allowed keys with the largest relevance, ascending if score terms read them."""
        S = k.shape[1]
        chosen = S if self.chosen is None else self.chosen
        at = best_keys(q, k, weight, scoring.mask, chosen, kernel.block_sizes(q.shape[1], S))
        return (jnp.sort(at, axis=-1) if scoring.terms else at)[:, None]


def divergence(
    weights: Float[Array, 'B T C'],
    q: Queries,
    k: Float[Array, 'B S 1 H'],
    weight: Float[Array, 'B T N'],
    at: Int[Array, 'B 1 T C'],
    real: Real | None,
) -> Total:
    """Return KL of attention's weights, summed over the heads and normalised, to the softmax of relevance, in nats.

    The mean is over real queries; the weights have no gradient. Negative weights, as in talking heads, count by their
    magnitude.

    Args:
        weights: magnitudes of the weights of each chosen key, summed over the heads.
        q, k, weight: the indexer's queries and keys, and the weights of its heads.
        at: index of each chosen key; S for none.
    """
    given = q, weight, jax.lax.stop_gradient(weights)
    distance = over_chosen(partial(_distance, k.shape[1]), given, k[:, None], [], at, (), ())
    return token_total(distance, jnp.ones(distance.shape, bool) if real is None else real)


def _distance(
    keys: int,
    queries: tuple[Array, ...],
    k: Float[Array, 'B 1 X C 1 H'],
    floats: list[Array],
    at: Int[Array, 'B 1 X C'],
    rows: tuple[()],
    others: tuple[()],
) -> Float[Array, 'B X']:
    """Return the divergence of each query of a block. An index of `keys` marks a missing key."""
    q, weight, weights = queries
    one_each = (rearrange(q, 'B X N H -> (B X) 1 N H'), rearrange(k, 'B 1 X C 1 H -> (B X) C 1 H'))
    fit = rearrange(relevance(*one_each, rearrange(weight, 'B X N -> (B X) 1 N')), '(B X) 1 C -> B X C', X=q.shape[1])
    wanted = weights / jnp.maximum(jnp.sum(weights, axis=-1, keepdims=True), _TINY)
    found = jax.nn.log_softmax(jnp.where(at[:, 0] < keys, fit, _NEVER), axis=-1)
    return jnp.sum(jax.scipy.special.xlogy(wanted, wanted) - wanted * found, axis=-1)
