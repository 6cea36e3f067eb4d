# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Multi-token attention (MTA): scores are convolved over neighbouring queries and keys, and mixed over heads.

    A = mix'(conv'(softmax(mix(conv(S)))))        S the scaled scores, 0 where a key is later than its query
    conv(S)[n, i, j] = sum over a < query_size, |c| <= key_size // 2 of theta[n, a, c] S[n, i - a, j + c]

Golovneva, Wang, Weston, Sukhbaatar 2025, "Multi-Token Attention", section 3, https://arxiv.org/abs/2504.00927. conv and
mix are the identity at first. As published, query sizes are 6, key sizes 11, a mix is over all heads, and each head's
output is normalised; the authors' scalar gate after that norm is left out. Weights may be negative, and rows need not
sum to one. Taps on another segment are zero. A step needs the queries of the last tokens, which are cached. Cost:
B T S N (H + A C), all scores at once. It supports only causal masks, and no cross-attention.
"""

import math
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Int

from saccade.attention.cache import Cache, KVCache, heads_first
from saccade.attention.multi_head import MultiHead, attended_pairs
from saccade.axes import parameter
from saccade.ops.causality import require_causal_mask
from saccade.ops.project import each_head
from saccade.ops.score_convolution import MixedWeights, Mixing
from saccade.ops.scoring import Scoring
from saccade.types import (
    CachedKeys,
    Capabilities,
    Count,
    Hidden,
    LayerContext,
    Mixed,
    Norm,
    PairKernel,
    Part,
    Queries,
    Real,
    Rows,
    State,
    UserError,
    Values,
)

__all__ = ['MultiToken']


@struct.dataclass
class MultiTokenCache:
    """KV cache with the newest queries. Attributes: kv; queries, as keys without values."""

    kv: KVCache
    queries: Cache


class MultiToken(MultiHead):
    """Multi-token attention.

    Attributes: the attributes of MultiHead, and
        query_size: queries that the convolution of scores covers, in tokens.
        key_size: keys that the convolution of scores covers, in tokens.
        mixed: heads per mixed group of scores.
        after_query_size: queries that the convolution of weights covers, in tokens.
        after_key_size: keys that the convolution of weights covers, in tokens.
        after_mixed: heads per mixed group of weights.
        output_norm: norm of each head's output.

    A convolution of size 1 x 1, and groups of one head, are left out.
    """

    kernel: Part[PairKernel]
    query_size: Count
    key_size: Count
    mixed: Count = 1
    after_query_size: Count = 1
    after_key_size: Count = 1
    after_mixed: Count = 1
    output_norm: Part[Norm] | None = None

    capabilities: ClassVar[Capabilities] = Capabilities(
        full=False,
        cross=False,
        scores=True,
        equivariant=False,
        time='B T S N (H + A C)',
        memory='B N T S',
        state='S K H + A N H',
    )
    rows: ClassVar[Rows] = Rows(least=-math.inf, most=math.inf)
    why_not: ClassVar[dict[str, str]] = {'KVSharingMixer': 'each layer caches queries of its own'}
    example: ClassVar[dict[str, Any]] = {
        'query_size': 2, 'key_size': 3, 'mixed': 2, 'after_query_size': 3, 'after_key_size': 3, 'after_mixed': 4
    }  # fmt: skip

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
        """Attend with convolved scores and weights; return the output of each head, and the new cache."""
        self._check(context, scoring)
        kernel = self.kernel(name='kernel')
        if state is None:
            scoring, k, v, pairs, _ = attended_pairs(kernel, q, k, v, scoring, context, train, None)
            mixed, _ = kernel.attend_to_pairs(q, k, v, self._mixing(scoring, context.numbered), pairs)
            return mixed, state
        kv, queries = state.kv.append(k, v, scoring.features, context), state.queries.extend(q, q[..., :0], {}, context)
        order = jnp.argsort(queries.segments != 0, axis=-1, stable=True)
        # Consecutive tokens are adjacent: slots of padding come first, of queries and of keys.
        newest, slots = (cache.newest(cache.positions.shape[1]) for cache in (queries, kv.whole()))
        rows = context.replace(positions=newest.positions, segments=newest.segments)
        k, v, pairs = slots.read(scoring, rows)
        scoring = self._mixing(kernel.complete(scoring, q.shape[-2], False), newest.segments)
        mixed, _ = kernel.attend_to_pairs(heads_first(newest.keys()), k, v, scoring, pairs)
        mixed = jax.vmap(lambda row, at: row[at])(mixed, jnp.argsort(order, axis=-1)[:, -q.shape[1] :])
        return mixed, MultiTokenCache(kv, newest.newest(self._earlier))

    def project_output(self, x: Hidden, mixed: Mixed, real: Real | None, train: bool) -> Hidden:
        """Normalise the outputs of the heads, if there is an output norm, and project them."""
        if self.output_norm is not None:
            mixed = each_head(self.output_norm(name='output_norm'), mixed, real)
        return super().project_output(x, mixed, real, train)

    def init_state(self, x: Hidden, capacity: int) -> MultiTokenCache:
        """Return an empty KV cache with `capacity` slots per row for any mask, and slots for the last queries."""
        N, _, H = self.sizes(x.shape[-1])
        q = jnp.zeros((*x.shape[:2], N, H), x.dtype)
        queries = Cache.empty(q, q[..., :0], {}, self._earlier)
        return MultiTokenCache(Cache.empty(*self.empty_kv(x), capacity), queries)

    def sizes(self, D: int) -> tuple[int, int, int]:
        """Return N, K and H at width D.

        Raises:
            UserError: a size of keys is even, or the heads cannot be cut into groups; and as for MultiHead.
        """
        name, given = Part(type(self)).name, ('query_size', 'key_size', 'mixed')
        every = {prefix + field: getattr(self, prefix + field) for prefix in ('', 'after_') for field in given}
        for field, size in every.items():
            if field.endswith('key_size') and size % 2 == 0:
                raise UserError(f'{name}: {field} must be odd, with equally many keys on both sides, not {size}')
            if field.endswith('mixed') and self.heads % size:
                raise UserError(f'{name}: {field}={size} does not divide {self.heads} heads; use a divisor')
        return super().sizes(D)

    @property
    def _earlier(self) -> int:
        """Number of earlier queries that a step needs; at least one, even if it is unused."""
        return max(self.query_size + self.after_query_size - 2, 1)

    def _mixing(self, scoring: Scoring, segments: Int[Array, 'B T']) -> Scoring:
        """Return the scoring with the convolutions and mixes around its softmax."""
        before = self._mixed('scores', self.query_size, self.key_size, self.mixed)
        after = self._mixed('weights', self.after_query_size, self.after_key_size, self.after_mixed)
        return scoring.replace(softmax=MixedWeights(scoring.softmax, before, after, segments))

    def _mixed(self, name: str, queries: int, keys: int, heads: int) -> Mixing:
        kernel = matrices = None
        if (queries, keys) != (1, 1):
            kernel = parameter(self, f'{name}_kernel', 'N X X', _one_tap, (self.heads, queries, keys))
        if heads != 1:
            matrices = parameter(self, f'{name}_heads', 'X X X', _same_heads, (self.heads // heads, heads, heads))
        return Mixing(kernel, matrices)

    def _check(self, context: LayerContext, scoring: Scoring) -> None:
        context.require_no_source(Part(type(self)).name)
        require_causal_mask(Part(type(self)).name, scoring.mask)


def _one_tap(key: Array, shape: tuple[int, ...]) -> Array:
    """Initialise a convolution that returns its input."""
    return jnp.zeros(shape).at[:, -1, shape[-1] // 2].set(1.0)


def _same_heads(key: Array, shape: tuple[int, ...]) -> Array:
    """Initialise mixes that return their input."""
    return jnp.broadcast_to(jnp.eye(shape[-1]), shape)
