# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Persistent memory: trained keys and values that every token attends to, in addition to the tokens.

    y_n = attend(q_n, [M_k ; k_g], [M_v ; v_g])         M_k, M_v [M K H], in one softmax, for all positions

Sukhbaatar et al. 2019, "Augmenting Self-attention with Persistent Memory", https://arxiv.org/abs/1907.01470
In the paper the memory replaces the feed-forward layer; ours leaves this to the block. Masks, positions and score terms
apply only to tokens: the memory is never masked, and its scores are plain products. It needs a score-based kernel.
Cost: a kernel's with M more keys, 2 M K H parameters, no additional decoding state.
"""

from typing import Any, ClassVar

import flax.linen as nn
import jax.numpy as jnp
from einops import repeat
from flax import struct
from jaxtyping import Array, Bool, Float, PyTree

from saccade.attention.base import require_scores
from saccade.attention.cache import Cache
from saccade.attention.multi_head import MultiHead, SourceKeys, visible
from saccade.axes import parameter
from saccade.ops.mask import MaskBase
from saccade.ops.scoring import Scoring, grouped_products, weighted_values
from saccade.types import (
    CachedKeys,
    Capabilities,
    Count,
    Features,
    Hidden,
    Kernel,
    KeyIndex,
    Keys,
    LayerContext,
    Mixed,
    Pairs,
    Part,
    Queries,
    QueryIndex,
    Scores,
    ScoreTerm,
    State,
    Values,
)

__all__ = ['PersistentMemory']


@struct.dataclass
class MemoryAndTokens(MaskBase):
    """Mask over memory and tokens: memory keys come first and are always allowed, tokens follow the wrapped mask.

    Attributes:
        count: number of memory keys.
    """

    mask: MaskBase
    count: int = struct.field(pytree_node=False)

    def __call__(self, q_index: QueryIndex, k_index: KeyIndex) -> Bool[Array, '... T S']:
        tokens = self.mask(q_index, jnp.maximum(k_index - self.count, 0))
        return tokens | (k_index < self.count)[..., None, :]

    def live(self, q: range, k: range) -> bool:
        """Return True if the block has a memory key, or the mask of the tokens is live for the other keys."""
        tokens = range(max(k.start - self.count, 0), max(k.stop - self.count, 0))
        return super().live(q, k) and (k[0] < self.count or self.mask.live(q, tokens))


@struct.dataclass
class OfTokens:
    """Score term applied to tokens only; the memory's scores are unchanged.

    Attributes:
        count: number of memory keys. They come first, so a term that counts keys up to a query does not count them.
    """

    term: ScoreTerm
    count: int = struct.field(pytree_node=False)

    def init_carry(self, q: Queries) -> PyTree:
        """Return the initial carry of the wrapped term."""
        return self.term.init_carry(q)

    def __call__(self, scores: Scores, q: Queries, k: Keys, pairs: Pairs, carry: PyTree) -> tuple[Scores, PyTree]:
        token = pairs.k_index >= self.count
        own = pairs.replace(k_index=jnp.maximum(pairs.k_index - self.count, 0))
        changed, carry = self.term(scores, q, k, own, carry)
        return jnp.where(token, changed, scores), carry


@struct.dataclass
class CacheWithMemory(Cache):
    """KV cache of the tokens; `memory`, persistent keys and values [B M K H], is set only during a step."""

    memory: tuple[Keys, Values] | None = None

    def attend(self, q: Queries, scoring: Scoring, context: LayerContext) -> Mixed:
        """Attend queries of the newest tokens to the memory and to all slots, without concatenating them."""
        k, v = self.memory
        keys, values, pairs = self.read(scoring, context)
        of_tokens, _ = scoring.scores(q, keys, pairs, scoring.init_carry(q))
        of_memory = scoring.scale * grouped_products(q, k)
        allowed = jnp.concatenate([jnp.ones((*pairs.allowed.shape[:-1], k.shape[1]), bool), pairs.allowed], axis=-1)
        weights = scoring.weights(jnp.concatenate([of_memory, of_tokens], axis=-1), allowed)
        on_memory, on_tokens = jnp.split(weights, [k.shape[1]], axis=-1)
        return weighted_values(on_memory, v, v.dtype) + weighted_values(on_tokens, values, v.dtype)


class PersistentMemory(MultiHead):
    """Multi-head attention with persistent memory.

    Attributes: the attributes of MultiHead; count (M); memory_init of its keys and values.
    """

    count: Count
    memory_init: Part = Part(nn.initializers.normal, (('stddev', 1.0),))

    capabilities: ClassVar[Capabilities] = Capabilities(scores=True)
    example: ClassVar[dict[str, Any]] = {'count': 3}

    def empty_cache(self, k: CachedKeys, v: Values, features: Features, capacity: int) -> State:
        """Return an empty KV cache of tokens; the memory takes no slots."""
        return CacheWithMemory.empty(k, v, features, capacity)

    def attend(
        self,
        q: Queries,
        k: Keys,
        v: Values,
        scoring: Scoring,
        x: Hidden,
        context: LayerContext,
        train: bool,
        state: State | None,
    ) -> tuple[Mixed, State]:
        """Attend to tokens and persistent keys; return the output of each head, and the new state."""
        kernel = self.kernel(name='kernel')
        memory = self._memory(kernel, k, v)
        if state is not None and not isinstance(state, SourceKeys):
            mixed, after = kernel.step(q, k, v, scoring, state.with_fields(memory=memory), context)
            return mixed, after.with_fields(memory=None)
        k, v = (jnp.concatenate(pair, axis=1) for pair in zip(memory, (k, v), strict=True))
        scoring = visible(scoring, context)
        terms = tuple(OfTokens(term, self.count) for term in scoring.terms)
        features = {name: jnp.pad(leaf, ((0, 0), (self.count, 0), (0, 0))) for name, leaf in scoring.features.items()}
        mask = MemoryAndTokens(scoring.mask, self.count)
        scoring = scoring.replace(mask=mask, terms=terms, features=features)
        return kernel(q, k, v, scoring, train), state

    def _memory(self, kernel: Kernel, k: Keys, v: Values) -> tuple[Float[Array, 'B M K H'], Float[Array, 'B M _ _']]:
        """Return the persistent keys and values, repeated for each row."""
        require_scores(self, kernel)
        kept = (
            parameter(self, f'memory_{of}', 'M K H', self.memory_init(), (self.count, *x.shape[-2:]), decays=True)
            for of, x in (('key', k), ('value', v))
        )
        return tuple(repeat(x.astype(k.dtype), 'M K H -> B M K H', B=k.shape[0]) for x in kept)
