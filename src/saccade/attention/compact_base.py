# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Multi-head attention with a compressed KV cache, from which keys and values are computed at each step."""

from collections.abc import Callable

from saccade.attention.base import require_scores
from saccade.attention.cache import CompactCache
from saccade.attention.multi_head import MultiHead, SourceKeys
from saccade.ops.scoring import Scoring
from saccade.types import (
    CachedKeys,
    Features,
    Hidden,
    Keys,
    LayerContext,
    Mixed,
    Queries,
    State,
    Values,
)

Expand = Callable[[CachedKeys, Values], tuple[Keys, Values]]


class Compact(MultiHead):
    """Base of multi-head attention with a cache smaller than its keys and values.

    In a subclass, the projected keys have one head, [B S 1 W]. Layers that share keys and values share the cached form.
    """

    @property
    def expansion(self) -> Expand:
        """Return the function from cached arrays to keys and values. Abstract."""
        raise NotImplementedError

    def empty_cache(self, k: CachedKeys, v: Values, features: Features, capacity: int) -> State:
        """Return an empty cache of compressed keys and values."""
        return CompactCache.empty(k, v, features, capacity, expand=self.expansion)

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
        require_scores(self, self.kernel(parent=None))
        if state is None or isinstance(state, SourceKeys):
            k, v = self.expansion(k, v)
        return super().attend(q, k, v, scoring, x, context, train, state)
