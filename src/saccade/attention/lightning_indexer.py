# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""DeepSeek sparse attention (DSA): a small indexer scores every pair, and queries attend to the top-scoring keys.

    I_ij = sum_m w_im relu(q'_im . k'_j),    y_i = attend(q_i, K_J, V_J),    J = the `chosen` keys of largest I_ij
    loss: mean over i of KL( p_i || softmax_j I_ij ),    p_i = the mean of the heads' attention weights

DeepSeek-AI 2025, "DeepSeek-V3.2: Pushing the Frontier of Open Large Language Models", section 2.1,
https://arxiv.org/abs/2512.02556. The indexer reads stop_gradient(x), and is trained only by its loss: over all keys if
`chosen` is None (the dense warm-up), else over the chosen keys. The paper uses latent attention, with indexer queries
from the latent; here it is multi-head attention, whose heads share the choice. The other keys are masked, so time and
memory are not reduced. Cost: all scores, and B T S M X.
"""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Bool, Float

from saccade.attention.cache import Cache, KVCache, heads_first
from saccade.attention.multi_head import MultiHead, SharedKV, attended_pairs
from saccade.axes import flat, parameter
from saccade.ops.padding import token_total
from saccade.ops.project import project
from saccade.ops.scoring import Scoring
from saccade.position.rotary import Rotary
from saccade.types import (
    CachedKeys,
    Capabilities,
    Count,
    Hidden,
    LayerContext,
    Mixed,
    NotNegative,
    PairKernel,
    PairPosition,
    Pairs,
    Part,
    Queries,
    Real,
    Rows,
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

    Attributes: as in MultiHead; index_heads, M; index_width, of each of its queries and of its one key a token;
    chosen, how many keys a query attends to at most, None for all; loss, the weight of the indexer's loss;
    index_position, of the indexer's queries and keys.
    """

    kernel: Part[PairKernel]
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
        memory='B N T S',
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
        kernel, cached = self.kernel(name='kernel'), state is not None
        (index_q, index_k), weight = self._indexer(x, context)
        index = state.index.append(index_k, index_k[..., :0], {}, context) if cached else None
        scoring, k, v, pairs, kv = attended_pairs(
            kernel, q, k, v, scoring, context, train, state.kv if cached else None
        )
        fit = relevance(index_q, heads_first(index.whole().k) if cached else index_k, weight)
        pairs = self._chosen(pairs, fit)
        mixed, weights = kernel.attend_to_pairs(q, k, v, scoring, pairs)
        if not cached and not self.is_initializing():
            loss = divergence(weights, fit, pairs.allowed, context.real)
            self.sow('losses', 'indexer', loss.times(self.loss))
        return mixed, IndexedCache(kv, index)

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

    def _chosen(self, pairs: Pairs, fit: Float[Array, 'B T S']) -> Pairs:
        """Keep, for each query, the allowed pairs with the largest fit."""
        if self.chosen is None:
            return pairs
        fit = jnp.where(pairs.allowed[:, 0], jax.lax.stop_gradient(fit), -jnp.inf)
        index = jax.lax.top_k(fit, min(self.chosen, fit.shape[-1]))[1]
        taken = jnp.put_along_axis(jnp.zeros(fit.shape, bool), index, True, axis=-1, inplace=False)
        return pairs.replace(allowed=pairs.allowed & taken[:, None])


def relevance(q: Queries, k: Float[Array, 'B S 1 H'], weight: Float[Array, 'B T N']) -> Float[Array, 'B T S']:
    """Return I of each pair, in float32: the sum over the indexer's heads of weight times relu(q . k)."""
    products = jnp.einsum('BTNH,BSH->BTNS', q, k[:, :, 0], preferred_element_type=jnp.float32)
    return jnp.einsum('BTN,BTNS->BTS', weight.astype(jnp.float32), jax.nn.relu(products))


def divergence(
    weights: Float[Array, 'B N T S'],
    fit: Float[Array, 'B T S'],
    allowed: Bool[Array, '#B 1 T S'],
    real: Real | None,
) -> Total:
    """Return KL of attention's weights, summed over the heads and normalised, to the softmax of `fit`, in nats.

    The mean is over real queries; the weights have no gradient. Negative weights, as in talking heads, count by their
    magnitude.
    """
    wanted = jnp.sum(jnp.abs(jax.lax.stop_gradient(weights)), axis=1)
    wanted = wanted / jnp.maximum(jnp.sum(wanted, axis=-1, keepdims=True), _TINY)
    found = jax.nn.log_softmax(jnp.where(allowed[:, 0], fit, _NEVER), axis=-1)
    distance = jnp.sum(jax.scipy.special.xlogy(wanted, wanted) - wanted * found, axis=-1)
    return token_total(distance, jnp.ones(distance.shape, bool) if real is None else real)
