# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Multi-head attention with a compressed KV cache, from which keys and values are computed at each step."""

from collections.abc import Callable

import jax.numpy as jnp
from einops import rearrange
from jaxtyping import Array, Float

from saccade.attention.cache import CompactCache
from saccade.attention.multi_head import MultiHead, SourceKeys
from saccade.ops.scoring import Scoring
from saccade.types import (
    CachedKeys,
    Hidden,
    Keys,
    LayerContext,
    Mixed,
    Part,
    Queries,
    State,
    UserError,
    Values,
)

Expand = Callable[[CachedKeys, Values], tuple[Keys, Values]]


class Compact(MultiHead):
    """Base of multi-head attention with a cache smaller than its keys and values.

    In a subclass, the projected keys have one head, [B S 1 W]. The features that score terms read for each key head are
    appended to it, flattened. Layers that share keys and values share the cached form.
    """

    @property
    def expansion(self) -> Expand:
        """Return the function from cached arrays to keys with their features, and values. Abstract."""
        raise NotImplementedError

    def beside(self, k: Float[Array, 'B S 1 _'], features: Float[Array, 'B S K _']) -> Float[Array, 'B S 1 _']:
        """Return the cached keys with the features of all key heads appended."""
        return jnp.concatenate([k, rearrange(features, 'B S K E -> B S 1 (K E)')], axis=-1)

    def cache_shapes(self, D: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return heads and width of the cached keys with their features, and of the cached values."""
        _, K, _ = self.sizes(D)
        (_, plain), (_, with_features) = self.kv_shapes(D)[0], super().cache_shapes(D)[0]
        return (1, plain + K * (with_features - plain)), self.kv_shapes(D)[1]

    def empty_cache(self, k: CachedKeys, v: Values, capacity: int) -> State:
        """Return an empty cache of compressed keys and values."""
        return CompactCache.empty(k, v, capacity, expand=self.expansion)

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
        """Attend queries to the expanded keys; return the output of each head, and the new state."""
        kernel = self.kernel(parent=None)
        if not kernel.capabilities.terms:
            name = Part(type(self)).name
            raise UserError(f'{name} needs a score-based kernel, which {self.kernel.name} is not')
        if state is None or isinstance(state, SourceKeys):
            k, v = self.expansion(k, v)
        return super().attend(q, k, v, scoring, x, context, train, state)


def with_features(k: Float[Array, 'B S K _'], features: Float[Array, 'B S 1 _']) -> Float[Array, 'B S K _']:
    """Return keys with the features that terms read of each, which come flat; the inverse of `Compact.beside`."""
    return jnp.concatenate([k, rearrange(features, 'B S 1 (K E) -> B S K E', K=k.shape[-2])], axis=-1)
