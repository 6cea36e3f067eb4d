# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""DeepSeek sparse attention (DSA): a small indexer scores every pair, and queries attend to the top-scoring keys.

    I_ij = sum_m w_im relu(q'_im . k'_j),    y_i = attend(q_i, K_J, V_J),    J = the `chosen` keys of largest I_ij
    loss: mean over i of KL( p_i || softmax_j I_ij ),    p_i = the mean of the heads' attention weights

DeepSeek-AI 2025, "DeepSeek-V3.2: Pushing the Frontier of Open Large Language Models", section 2.1,
https://arxiv.org/abs/2512.02556. The indexer reads stop_gradient(x), and is trained only by its loss: over all keys if
`chosen` is None (the dense warm-up), else over the chosen keys. The paper uses latent attention; here the heads of
multi-head attention share the choice. `attention.blockwise:Blockwise` gathers chosen keys (`ops.gathered`), and
`attention.plain:Plain`, the reference, masks the others. Cost in time: B T chosen (N H + M X), and B T S M X / P for
the choice, where the indexer has a key for P tokens; memory is linear in T.
"""

from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from einops import rearrange, reduce
from flax import struct
from jaxtyping import Array, Float, Int

from saccade.attention.cache import Cache, KVCache, heads_first
from saccade.attention.multi_head import MultiHead, SharedKV, visible
from saccade.axes import flat, parameter
from saccade.ops.blocks import Runs, Tokens, WholeRuns
from saccade.ops.gathered import ChosenTokens, over_chosen
from saccade.ops.mask import ByPosition, Causal, SameSegment
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
    Mask,
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
    UserError,
    Values,
)

__all__ = ['LightningIndexer']

_TINY, _NEVER = 1e-30, -1e30


@struct.dataclass
class IndexedCache:
    """KV cache with a cache of the indexer's keys.

    Attributes: kv, None for whole sequences; index, whose values have width 0, None also without an indexer.
    """

    kv: KVCache | None
    index: KVCache | None


@struct.dataclass
class Choice:
    """Keys that each query attends to.

    Attributes:
        tokens: index of each key; S for none.
        fit: logarithm of the indexer's probability of each chosen key, or block of P keys, which come first in
            `tokens`, before P - 1 others; None in a step.
        mask: the pairs that could be chosen, besides padding and packing.
    """

    tokens: Int[Array, 'B 1 T _']
    fit: Float[Array, 'B T C'] | None
    mask: Part[Mask] = struct.field(pytree_node=False)


class LightningIndexer(MultiHead):
    """Multi-head attention to keys chosen by a lightning indexer.

    Also called: DSA, DeepSeek sparse attention, indexer, kpool.

    Attributes: as in MultiHead; index_heads, their number (M); index_width, of each of its queries and of its one key
    a token; chosen, how many keys a query attends to at most, None for all; loss, the weight of the indexer's loss;
    index_position, of the indexer's queries and keys; pool, tokens of a block with one key (P), 1 for none.

    With `pool` a block of P tokens, counted from the first of a segment, has the mean of its keys as its key:
    k'_b = mean_{j in b} k'_j. A query chooses chosen / P of the blocks whose last token it sees, and always attends to
    the tokens after these blocks, at most P - 1. This is the selection of GLM-5.3-Flash (Z.ai 2026, `index_kpool` of
    https://github.com/huggingface/transformers/tree/main/src/transformers/models/glm5_next), whose mean has trained
    weights, equal at the start. The loss compares the sums of p over the chosen blocks, which is ours.
    """

    kernel: Part[SparseKernel]
    index_heads: Count
    index_width: Count
    chosen: Count | None
    loss: NotNegative = 1.0
    index_position: Part[PairPosition] = Part(Rotary)
    pool: Count = 1

    capabilities: ClassVar[Capabilities] = Capabilities(
        cross=False,
        scores=True,
        equivariant=False,
        time='B T S (N H + M X)',
        state='S (K H + X)',
    )
    rows: ClassVar[Rows] = Rows(dense=False, continuous=False)
    ascending: ClassVar[bool] = False  # chosen keys are in ascending order, whether or not score terms read them
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
        kernel, after = self.kernel(name='kernel'), IndexedCache(None, None) if state is None else state
        k, v, scoring, places, kv = complete(kernel, q, k, v, scoring, context, train, after.kv)
        choice, after = self.choose(kernel, x, scoring, context, after.replace(kv=kv))
        mixed, weights = kernel.attend_to_tokens(q, k, v, scoring, ChosenTokens(choice.tokens, *places))
        if choice.fit is not None and not self.is_initializing():
            loss = divergence(weights, choice.fit, context.real)
            self.sow('losses', 'indexer', loss.times(self.loss))
        return mixed, None if state is None else after

    def choose(
        self, kernel: SparseKernel, x: Hidden, scoring: Scoring, context: LayerContext, state: IndexedCache
    ) -> tuple[Choice, IndexedCache]:
        """Choose the allowed keys with the largest relevance, in ascending order if score terms read them.

        Args:
            state: KV cache with the chunk in it, and the indexer's without it, which is returned with it.
        """
        (q, k), weight = self._indexer(x, context)
        if state.index is not None:
            state = state.replace(index=state.index.append(k, k[..., :0], {}, context))
            k = heads_first(state.index.whole().keys())
        mask, chosen, S = scoring.mask, self.chosen, k.shape[1]
        if self.pool > 1:
            queries, keys = tokens_of(context, state.kv)
            runs, chosen = Runs.of(keys, self.pool, self.pool), chosen and chosen // self.pool
            k, mask = runs.gather(k).mean(axis=2), WholeRuns(queries, runs, state.kv is None)
        most = k.shape[1] if chosen is None else chosen
        at = best_keys(q, k, weight, mask, most, kernel.block_sizes(q.shape[1], k.shape[1]))
        at = (jnp.sort(at, axis=-1) if scoring.terms or self.ascending else at)[:, None]
        fit = log_probabilities(q, k, weight, at) if state.kv is None else None
        if self.pool == 1:
            return Choice(at, fit, self.mask), state
        tail = queries.newest(keys, (queries.positions + 1) % self.pool, self.pool - 1)[..., ::-1]
        tail = jnp.broadcast_to(tail[:, None], (*at.shape[:3], self.pool - 1))
        return Choice(jnp.concatenate([runs.places(at, S), tail], axis=-1), fit, self.mask), state

    def init_state(self, x: Hidden, capacity: int) -> IndexedCache:
        """Return an empty KV cache, and one of the indexer's keys, with `capacity` slots per row for any mask."""
        kv, index = self.empty_kv(x), jnp.zeros((*x.shape[:2], 1, self.index_width), x.dtype)
        return IndexedCache(Cache.empty(*kv, capacity), Cache.empty(index, index[..., :0], {}, capacity))

    def sizes(self, D: int) -> tuple[int, int, int]:
        """Return N, K and H at width D.

        Raises:
            UserError: `pool` does not divide `chosen`, or is used without a causal mask; and as for MultiHead.
        """
        name = Part(type(self)).name
        if self.chosen is not None and self.chosen % self.pool:
            raise UserError(f'{name}: pool {self.pool} must divide chosen {self.chosen}')
        if self.pool > 1 and self.mask.target is not Causal:
            raise UserError(f'{name}: pool {self.pool} needs the mask ops.mask:Causal, not {self.mask.name}')
        return super().sizes(D)

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


def complete(
    kernel: SparseKernel,
    q: Queries,
    k: CachedKeys,
    v: Values,
    scoring: Scoring,
    context: LayerContext,
    train: bool,
    cache: KVCache | None,
) -> tuple[Array, Array, Scoring, tuple[Array, Array], KVCache | None]:
    """Return keys, values, complete scoring, and indices of queries and keys.

    They are of whole sequences, or of the cache with the chunk in it, which comes last.
    """
    if cache is None:
        places = (jnp.arange(k.shape[1]),) * 2
        return k, v, kernel.complete(visible(scoring, context), q.shape[-2], train), places, None
    after = cache.append(k, v, scoring.features, context)
    slots = after.whole()
    mask = ByPosition(scoring.mask, context.positions, slots.positions, aligned=False)
    mask &= SameSegment(context.numbered, slots.segments)
    scoring = kernel.complete(scoring, q.shape[-2], False).replace(mask=mask, features=slots.features)
    return heads_first(slots.keys()), heads_first(slots.values()), scoring, (context.positions, slots.positions), after


def tokens_of(context: LayerContext, cache: KVCache | None) -> tuple[Tokens, Tokens]:
    """Return the tokens of queries and of keys: of whole sequences, or of a chunk and of the slots of its cache."""
    if cache is not None:
        slots = cache.whole()
        return Tokens(context.positions, context.numbered), Tokens(slots.positions, slots.segments)
    alone = context.segments is None
    tokens = Tokens.alone(context.positions.shape[1]) if alone else Tokens.of_rows(context.numbered)
    return tokens, tokens


def log_probabilities(
    q: Queries, k: Float[Array, 'B S 1 H'], weight: Float[Array, 'B T N'], at: Int[Array, 'B 1 T C']
) -> Float[Array, 'B T C']:
    """Return the logarithm of the softmax of relevance over the chosen keys.

    Args:
        at: index of each chosen key; S for none.
    """
    return over_chosen(partial(_log_probabilities, k.shape[1]), (q, weight), k[:, None], [], at, (), ())


def _log_probabilities(
    keys: int,
    queries: tuple[Array, Array],
    k: Float[Array, 'B 1 X C 1 H'],
    floats: list[Array],
    at: Int[Array, 'B 1 X C'],
    rows: tuple[()],
    others: tuple[()],
) -> Float[Array, 'B X C']:
    """Return the logarithms for a block of queries. An index of `keys` marks a missing key."""
    q, weight = queries
    one_each = (rearrange(q, 'B X N H -> (B X) 1 N H'), rearrange(k, 'B 1 X C 1 H -> (B X) C 1 H'))
    fit = rearrange(relevance(*one_each, rearrange(weight, 'B X N -> (B X) 1 N')), '(B X) 1 C -> B X C', X=q.shape[1])
    return jax.nn.log_softmax(jnp.where(at[:, 0] < keys, fit, _NEVER), axis=-1)


def divergence(weights: Float[Array, 'B T _'], fit: Float[Array, 'B T C'], real: Real | None) -> Total:
    """Return KL of attention's weights, summed over the heads and normalised, to the indexer's softmax, in nats.

    The mean is over real queries; the weights have no gradient. Negative weights, as in talking heads, count by their
    magnitude.

    Args:
        weights: magnitudes of the weights of each chosen key, summed over the heads.
        fit: as in `Choice`.
    """
    C = fit.shape[-1]
    P = (weights.shape[-1] + 1) // (C + 1)  # C blocks of P keys, and P - 1 keys
    of_blocks = reduce(jax.lax.stop_gradient(weights)[..., : C * P], 'B T (C P) -> B T C', 'sum', C=C)
    wanted = of_blocks / jnp.maximum(jnp.sum(of_blocks, axis=-1, keepdims=True), _TINY)
    distance = jnp.sum(jax.scipy.special.xlogy(wanted, wanted) - wanted * fit, axis=-1)
    return token_total(distance, jnp.ones(distance.shape, bool) if real is None else real)
