# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Reformer's LSH attention: a token attends to those whose shared query and key has the same hash.

    q = x Wq,   k_j = q_j / |q_j|,   b_r(i) = argmax [q_i R_r; -q_i R_r],   y_i = sum over j in P_i softmax(q_i.k_j) v_j
    P_i: the tokens with bucket b_r(i) in any round r, in i's chunk of that bucket or the one before, j <= i if causal

Kitaev, Kaiser, Levskaya 2020, "Reformer: The Efficient Transformer", section 2, https://arxiv.org/abs/2001.04451
Scores are of unit keys, without a further scale. A token reads itself only where there is no other. Rounds are combined
by log-sum-exp with the paper's N_ij. Chunks of M tokens are counted within a bucket of a document; the authors cut the
row of all sorted tokens, so that later tokens and other documents move their borders: theirs cannot be stepped, or
packed, exactly. R is drawn once from the seed, the same in all layers; no gradient goes through the choice. Reversible
layers are another part of the paper. No cross-attention and no score terms. Cost: B N R T M H and a sort; a step
reads all tokens.
"""

from typing import Any, ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp
from einops import rearrange
from jaxtyping import Array

from saccade.attention.cache import Cache, KVCache
from saccade.attention.multi_head import visible
from saccade.attention.paged import in_pages
from saccade.axes import flat, parameter
from saccade.module import Layer
from saccade.ops.hashing import Hashed, attend_hashed, buckets_of, rotations
from saccade.ops.mask import Full
from saccade.ops.project import merge_heads, project, width_of_heads
from saccade.ops.reach import reach_of
from saccade.ops.scoring import Scoring
from saccade.types import (
    Capabilities,
    Count,
    CountOrZero,
    Hidden,
    LayerContext,
    Mask,
    Mixed,
    Pages,
    Pairs,
    Part,
    Queries,
    Rows,
    Share,
    State,
    UserError,
)

__all__ = ['Reformer']


class Reformer(Layer):
    """Reformer's LSH attention.

    Also called: LSH attention, shared-QK attention, locality-sensitive hashing.

    Attributes:
        heads: number of heads (N).
        buckets: number of buckets of a round, an even number; the authors take 2 T / M.
        block: number of tokens of a chunk (M).
        rounds: number of rounds of hashing (R).
        mask: `ops.mask:Causal` or `ops.mask:Full`.
        seed: of the random rotations.
        dropout: of the output.
        kernel_init: initialiser of all projections except the output projection.
        output_init: initialiser of the output projection.
    """

    heads: Count
    buckets: Count
    block: Count
    rounds: Count = 1
    mask: Part[Mask] = Part(Full)
    seed: CountOrZero = 0
    dropout: Share = 0.0
    kernel_init: Part = Part(nn.initializers.lecun_normal)
    output_init: Part = Part(nn.initializers.lecun_normal)

    capabilities: ClassVar[Capabilities] = Capabilities(
        cross=False, terms=False, equivariant=False, time='B N R T M H', memory='B N R T M H', state='S N H'
    )
    rows: ClassVar[Rows] = Rows(dense=False, continuous=False)
    example: ClassVar[dict[str, Any]] = {'buckets': 2, 'block': 2, 'rounds': 2}

    @nn.compact
    def mix(self, x: Hidden, context: LayerContext, train: bool, state: State | None) -> tuple[Hidden, State]:
        """Attend within buckets of whole sequences, or from a chunk to the KV cache and the chunk.

        Raises:
            UserError: an odd number of buckets, or the context has a source or score terms, or the mask is another.
        """
        name = Part(type(self)).name
        context.require_no_source(name)
        if self.buckets % 2:
            raise UserError(f'{name}: buckets {self.buckets} must be an even number')
        q, v = self._heads('query', x), self._heads('value', x)
        squares = jnp.sum(jnp.square(q.astype(jnp.float32)), axis=-1, keepdims=True)
        k = (q * jax.lax.rsqrt(squares + 1e-6)).astype(q.dtype)
        scoring = Scoring(self.mask().of(context), context.terms)
        reach = reach_of(self, scoring if state is not None else visible(scoring, context), q, k)
        buckets = buckets_of(q, rotations(self.heads, q.shape[-1], self.rounds, self.buckets, self.seed))
        runs = buckets + self.buckets * context.numbered[:, None, None]
        if state is None:
            mixed, _ = attend_hashed(q, k, v, runs, self.block, reach.causal)
        else:
            mixed, state = self._step(q, k, v, runs, scoring, context, state)
        mixed, shape = self.tap('heads', 'B T N H', mixed, real=context.real), (*mixed.shape[-2:], x.shape[-1])
        y = merge_heads(mixed, parameter(self, 'output', 'N H -> D', flat(self.output_init, 2), shape))
        return nn.Dropout(self.dropout)(y, deterministic=not train), state

    def init_state(self, x: Hidden, capacity: int) -> KVCache:
        """Return the empty KV cache, with the run and the chunk of each token in each round."""
        heads = (*x.shape[:2], self.heads, width_of_heads(x.shape[-1], self.heads, None))
        k, v = (jnp.zeros(heads, x.dtype) for _ in range(2))
        each = jnp.zeros((*x.shape[:2], self.heads * self.rounds), jnp.int32)
        return Cache.empty(k, v, {'runs': each, 'chunks': each}, capacity)

    def init_pages(self, x: Hidden, pages: Pages) -> State:
        """Return the empty KV cache in pages."""
        return in_pages(self.init_state, x, pages)

    def _heads(self, name: str, x: Hidden) -> Queries:
        D = x.shape[-1]
        shape = D, self.heads, width_of_heads(D, self.heads, None)
        return project(x, parameter(self, name, 'D -> N H', flat(self.kernel_init, 1), shape))

    def _step(
        self, q: Queries, k: Queries, v: Queries, runs: Array, scoring: Scoring, context: LayerContext, state: KVCache
    ) -> tuple[Mixed, KVCache]:
        """Add a chunk to the KV cache, and attend to all tokens that a round finds; return the output and the cache."""
        before = state.whole()  # a slot without a token may have the run of another row's, or of a rejected one
        cached = self._by_token(jnp.where((before.segments != 0)[..., None], before.features['runs'], -1))
        earlier = jnp.arange(q.shape[1])[:, None] > jnp.arange(q.shape[1])
        ranks = (runs[..., None] == cached[..., None, :]).sum(axis=-1)
        ranks += ((runs[..., None] == runs[..., None, :]) & earlier).sum(axis=-1)
        queries = Hashed(runs, ranks // self.block)
        features = {name: rearrange(leaf, 'B N R T -> B T (N R)') for name, leaf in vars(queries).items()}
        after = state.append(k, v, features, context)
        keys, values, pairs = after.read(scoring, context)
        slots = Hashed(*(self._by_token(pairs.features[name])[..., None, :] for name in ('runs', 'chunks')))
        found = Hashed(runs[..., None], queries.chunks[..., None]).reaches(slots).any(axis=2)
        itself = (context.positions[:, None, :, None] == pairs.k_index[:, None, None, :]) & pairs.allowed
        others = found & pairs.allowed & ~itself
        allowed = others | (itself & ~others.any(axis=-1, keepdims=True))
        pairs = Pairs(pairs.q_index, pairs.k_index, allowed, scoring.scale)
        return scoring.attend(q, keys, values, pairs)[0], after

    def _by_token(self, x: Array) -> Array:
        return rearrange(x, 'B S (N R) -> B N R S', N=self.heads)
