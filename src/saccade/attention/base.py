# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Score-based attention kernels: softmax variant, dropout of the weights, and a KV cache to decode with."""

import flax.linen as nn
import jax

from saccade.attention.cache import Cache
from saccade.ops.devices import token_parts
from saccade.ops.scoring import Dropout, Scoring
from saccade.softmax.softmax import Softmax
from saccade.types import (
    CachedKeys,
    Keys,
    LayerContext,
    Mixed,
    Part,
    Queries,
    ScoringKernel,
    Share,
    SoftmaxVariant,
    UserError,
    Values,
)

OWN = ('dropout', 'softmax')  # fields of a kernel that has another one within


def require_own(name: str, kernel: Part[ScoringKernel]) -> None:
    """Check that a kernel within another leaves softmax and dropout to it.

    Args:
        name: of the outer one.

    Raises:
        UserError: it does not.
    """
    if given := [field for field, _ in kernel.arguments if field in OWN]:
        raise UserError(f'{name}: {given[0]} is a field of its own, not one of {kernel.name} in it')


def require_whole_rows(name: str) -> None:
    """Check that the tokens of a row are not split over devices.

    Args:
        name: of the kernel that attends over whole rows.

    Raises:
        UserError: they are.
    """
    if token_parts() > 1:
        raise UserError(
            f'{name} attends over whole rows, which config.mesh.sequence splits: attention.ulysses:Ulysses takes it'
        )


def in_words(heads: int, width: int) -> str:
    """Return so many heads of a width in words."""
    return f'{heads} head{"s" * (heads != 1)} of {width}'


class CachingKernel(nn.Module):
    """Base of kernels that attend by scores and decode with a KV cache.

    Attributes: softmax, how scores become weights.
    """

    softmax: Part[SoftmaxVariant] = Part(Softmax)

    def __call__(self, q: Queries, k: Keys, v: Values, scoring: Scoring, train: bool) -> Mixed:
        scoring = self.complete(scoring, q.shape[-2], train)
        self.require_served(q, k, v, scoring)
        return self.attend(q, k, v, scoring)

    def require_served(self, q: Queries, k: Keys, v: Values, scoring: Scoring) -> None:
        """Check that the kernel has what is asked of it. A kernel that has not everything overrides this.

        Raises:
            UserError: it has not.
        """

    def attend(self, q: Queries, k: Keys, v: Values, scoring: Scoring) -> Mixed:
        """Return the attention output under a complete scoring. To be overridden; it has no parameters."""
        raise NotImplementedError

    @nn.compact
    def complete(self, scoring: Scoring, heads: int, train: bool) -> Scoring:
        """Return the scoring with the softmax variant."""
        # 'weighting' is its name in checkpoints.
        return scoring.replace(softmax=self.softmax(name='weighting')(heads))

    def init_state(self, k: Keys, v: Values, capacity: int) -> Cache:
        """Return an empty KV cache with `capacity` slots a row."""
        return Cache.empty(k, v, capacity)

    def step(
        self, q: Queries, k: CachedKeys, v: Values, scoring: Scoring, state: Cache, context: LayerContext
    ) -> tuple[Mixed, Cache]:
        """Add a chunk's keys and values to the KV cache and attend to it; return the output and the cache after it."""
        return state.step(q, k, v, self.complete(scoring, q.shape[-2], False), context)


class ScoreKernel(CachingKernel):
    """Base of score-based kernels with dropout of the weights.

    Attributes: softmax, how scores become weights; dropout of the weights.
    """

    dropout: Share = 0.0

    @nn.compact
    def complete(self, scoring: Scoring, heads: int, train: bool) -> Scoring:
        """Return the scoring with the softmax variant, and with dropout of the weights in training."""
        scoring = scoring.replace(softmax=self.softmax(name='weighting')(heads))
        if not (train and self.dropout):
            return scoring
        return scoring.replace(dropout=Dropout(jax.random.key_data(self.make_rng('dropout')), self.dropout))
