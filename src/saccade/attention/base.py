# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Score-based attention kernels: softmax variant, attention dropout, and a KV cache for decoding."""

from functools import partial
from typing import Any, NoReturn

import flax.linen as nn
import jax

from saccade.attention.cache import Cache, KVCache
from saccade.module import Module
from saccade.ops.devices import token_parts
from saccade.ops.scoring import Dropout, Scoring
from saccade.softmax.softmax import Softmax
from saccade.types import (
    CachedKeys,
    Features,
    Kernel,
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

PATTERN = ('scores', 'pattern')  # taps of `Scoring.weights`
OWN = ('dropout', 'softmax')  # fields of a kernel that wraps another one


def require_own(name: str, kernel: Part[ScoringKernel]) -> None:
    """Check that an inner kernel leaves softmax and dropout to the outer one.

    Args:
        name: name of the outer kernel.
        kernel: the inner kernel.

    Raises:
        UserError: the inner kernel sets softmax or dropout.
    """
    if given := [field for field, _ in kernel.arguments if field in OWN]:
        raise UserError(f'{name}: set {given[0]} on {name}, not on its inner kernel {kernel.name}')


def require_scores(mixer: nn.Module, kernel: Kernel) -> None:
    """Check that the kernel of a mixer computes scores.

    Raises:
        UserError: the kernel does not support score terms.
    """
    if not kernel.capabilities.terms:
        raise UserError(f'{Part(type(mixer)).name} needs a score-based kernel, which {Part(type(kernel)).name} is not')


def require_whole_rows(name: str) -> None:
    """Check that the tokens of a row are not split over devices.

    Args:
        name: name of the kernel that attends over whole rows.

    Raises:
        UserError: the tokens are split.
    """
    if token_parts() > 1:
        raise UserError(
            f'{name} attends over whole rows, which config.mesh.sequence splits: use it in attention.ulysses:Ulysses'
        )


def in_words(heads: int, width: int) -> str:
    """Return the number of heads and their width as text."""
    return f'{heads} head{"s" * (heads != 1)} of {width}'


class NoSteps:
    """Mixin of kernels whose every output depends on all tokens of a row: they refuse to decode."""

    def init_state(self, k: Keys, v: Values, features: Features, capacity: int) -> NoReturn:
        """Refuse to decode.

        Raises:
            UserError: always.
        """
        raise UserError(f'{Part(type(self)).name} cannot decode: each output mixes all tokens of a row')

    def step(self, q: Queries, k: Keys, v: Values, scoring: Scoring, state: Any, context: LayerContext) -> NoReturn:
        """Refuse to decode.

        Raises:
            UserError: always.
        """
        self.init_state(k, v, {}, 0)


class CachingKernel(Module):
    """Base of score-based kernels with a KV cache for decoding.

    Attributes: softmax, the softmax variant.
    """

    softmax: Part[SoftmaxVariant] = Part(Softmax)

    def __call__(self, q: Queries, k: Keys, v: Values, scoring: Scoring, train: bool = False) -> Mixed:
        scoring = self.complete(scoring, q.shape[-2], train)
        self.require_served(q, k, v, scoring)
        return self.attend_tapped(q, k, v, scoring)

    def attend_tapped(self, q: Queries, k: Keys, v: Values, scoring: Scoring) -> Mixed:
        """Return the attention output under a complete scoring; by the plain path where it has a tap."""
        if scoring.tap is None:
            return self.attend(q, k, v, scoring)
        return self.noted(scoring).attend(q, k, v)[0]

    def noted(self, scoring: Scoring) -> Scoring:
        """Return a scoring whose taps tell that the plain path computed them."""
        note = f'by the plain path; the model runs {Part(type(self)).name}'
        return scoring.replace(tap=partial(scoring.tap, note=note))

    def require_served(self, q: Queries, k: Keys, v: Values, scoring: Scoring) -> None:
        """Check that the kernel supports the arguments. Kernels with restrictions override this.

        Raises:
            UserError: unsupported mask, term, dtype or platform.
        """

    def attend(self, q: Queries, k: Keys, v: Values, scoring: Scoring) -> Mixed:
        """Return the attention output under a complete scoring. Abstract; has no parameters."""
        raise NotImplementedError

    @nn.compact
    def complete(self, scoring: Scoring, heads: int, train: bool) -> Scoring:
        """Return the scoring with the softmax variant, and with taps where scores or pattern are asked for."""
        if self.asked(*PATTERN):
            scoring = scoring.replace(tap=self.tap)
        return scoring.replace(softmax=self.softmax(name='softmax')(heads))

    def init_state(self, k: Keys, v: Values, features: Features, capacity: int) -> Cache:
        """Return an empty KV cache with `capacity` slots per row."""
        return Cache.empty(k, v, features, capacity)

    def step(
        self, q: Queries, k: CachedKeys, v: Values, scoring: Scoring, state: KVCache, context: LayerContext
    ) -> tuple[Mixed, KVCache]:
        """Add a chunk's keys and values to the KV cache and attend to it; return the output and the new cache."""
        return state.step(q, k, v, self.complete(scoring, q.shape[-2], False), context)


class ScoreKernel(CachingKernel):
    """Base of score-based kernels with attention dropout.

    Attributes: softmax, the softmax variant; dropout, rate of the attention weights.
    """

    dropout: Share = 0.0

    @nn.compact
    def complete(self, scoring: Scoring, heads: int, train: bool) -> Scoring:
        """Return the scoring as `CachingKernel` does, and with dropout of the weights in training."""
        scoring = super().complete(scoring, heads, train)
        if not (train and self.dropout):
            return scoring
        return scoring.replace(dropout=Dropout(jax.random.key_data(self.make_rng('dropout')), self.dropout))
