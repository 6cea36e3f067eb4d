# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What all kernels share that attend by scores: dropout of the weights, and a cache to decode with."""

import flax.linen as nn
import jax

from saccade.attention.cache import Cache
from saccade.ops.scoring import Dropout, Scoring
from saccade.types import Keys, Queries, Scope, require_share


class ScoreKernel(nn.Module):
    """Attributes: dropout of the weights."""

    dropout: float = 0.0

    def with_dropout(self, scoring: Scoring, train: bool) -> Scoring:
        """Have the scoring drop weights, in training."""
        require_share(type(self).__name__, dropout=self.dropout)
        if not (train and self.dropout):
            return scoring
        return scoring.replace(dropout=Dropout(jax.random.key_data(self.make_rng('dropout')), self.dropout))

    def init_state(self, k: Keys, capacity: int) -> Cache:
        return Cache.empty(k, k, capacity)

    def step(self, q: Queries, k: Keys, v: Keys, scoring: Scoring, state: Cache, scope: Scope) -> tuple[Queries, Cache]:
        state = state.append(k, v, scope)
        return state.attend(q, scoring, scope), state
