# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Attention through the score matrix, as it is written in the paper: the reference path, and fast at short lengths.

    A = softmax(scale Q K^T + terms, masked);  Y = A V

Vaswani et al. 2017, "Attention Is All You Need", equation 1, https://arxiv.org/abs/1706.03762
With `query_chunks` the queries are taken in so many parts, each meeting only the span of keys that the mask
leaves it. It can return the weights (collection 'weights'). Cost: B N T S in time and in memory.
"""

from typing import ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp

from saccade.attention.cache import Cache
from saccade.ops import plain
from saccade.ops.scoring import Dropout, Scoring
from saccade.types import Can, Keys, Queries, Scope, require_positive, require_share


class Plain(nn.Module):
    """Attributes: dropout of the weights; query_chunks, 1 for the whole matrix at once."""

    dropout: float = 0.0
    query_chunks: int = 1

    can: ClassVar[Can] = Can(weights=True, time='B N T S', memory='B N T S')

    def __call__(self, q: Queries, k: Keys, v: Keys, scoring: Scoring, train: bool) -> Queries:
        require_positive('attention.plain:Plain', query_chunks=self.query_chunks)
        require_share('attention.plain:Plain', dropout=self.dropout)
        if train and self.dropout:
            scoring = scoring.replace(dropout=Dropout(jax.random.key_data(self.make_rng('dropout')), self.dropout))
        if not self.is_mutable_collection('weights') or self.is_initializing():
            return plain.attend_in_chunks(q, k, v, scoring, self.query_chunks)
        y, weights = plain.attend(q, k, v, scoring, jnp.arange(q.shape[1]), jnp.arange(k.shape[1]))
        self.sow('weights', 'attention', weights)
        return y

    def init_state(self, k: Keys, capacity: int) -> Cache:
        return Cache.empty(k, k, capacity)

    def step(self, q: Queries, k: Keys, v: Keys, scoring: Scoring, state: Cache, scope: Scope) -> tuple[Queries, Cache]:
        state = state.append(k, v, scope)
        return state.attend(q, scoring, scope), state
