# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Interpolated n-gram language model of the same tokens, a baseline that a trained model must beat.

    p_n(w | h) = λ_n(h) c(h, w) / c(h) + (1 - λ_n(h)) p_{n-1}(w | h'),   p_0(w) = 1/V

h is the history of n - 1 tokens, h' the same without its earliest. λ_n depends on h only by its bucket: the powers of
two of the count of h and of the number of distinct tokens that followed it; λ_n is 0 for an unseen h.
Jelinek and Mercer, 1980, Interpolated estimation of Markov source parameters from sparse data; buckets of two
statistics in the spirit of Chen and Goodman, 1998, section 2.3, https://aclanthology.org/P96-1041/.

A history ends at the start of the row's piece of a document, as the context of the compared model does.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from saccade.data.rows.pack import Rows
from saccade.data.text.stream import TextSplit
from saccade.types import UserError

__all__ = ['bigram_nats', 'trigram_nats']

ORDER = 3
# Number of buckets: 32 powers of two of each statistic, and 0 for unseen histories.
_BUCKETS = 32 * 32 + 1
_ITERATIONS = 30
# The held-out tenth is every tenth of a hundred stretches: whole passages, like the validation split.
_STRETCHES = 100
# Keys of trigrams are at most V³ and must fit 63 bits.
_MOST_TOKENS = 1 << 21
_MOST_TARGETS = 1 << 22  # of a split, so that a long text needs no more memory


@dataclass(frozen=True, eq=False)
class Targets:
    """Target tokens with their histories.

    Attributes:
        words: [targets] int64.
        histories: for n = 1, 2, 3 the n - 1 preceding tokens, as one number; -1 where there are fewer.
    """

    words: np.ndarray
    histories: tuple[np.ndarray, ...]

    def __getitem__(self, chosen: np.ndarray) -> 'Targets':
        return Targets(self.words[chosen], tuple(history[chosen] for history in self.histories))

    def of_order(self, order: int) -> 'Targets':
        """Return the same targets with histories of n - 1 tokens only for n up to the order."""
        return Targets(self.words, self.histories[:order])


@dataclass(frozen=True, eq=False)
class NgramCounts:
    """n-gram counts: the number of times that each token followed each history of one length. Keys are sorted."""

    vocabulary: int
    pairs: np.ndarray
    pair_counts: np.ndarray
    histories: np.ndarray
    totals: np.ndarray
    buckets: np.ndarray

    @classmethod
    def of(cls, histories: np.ndarray, words: np.ndarray, vocabulary: int) -> 'NgramCounts':
        """Count the words that follow each history; histories below 0 are left out."""
        known = histories >= 0
        pairs, pair_counts = np.unique(histories[known] * vocabulary + words[known], return_counts=True)
        seen, first, types = np.unique(pairs // vocabulary, return_index=True, return_counts=True)
        totals = np.add.reduceat(pair_counts, first) if len(first) else first
        buckets = 1 + 32 * _log2(totals) + _log2(types)
        return cls(vocabulary, pairs, pair_counts, seen, totals, buckets)

    def look_up(self, histories: np.ndarray, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return c(h, w) / c(h) and the bucket of h; both are 0 where h was never seen."""
        totals, buckets = _find(self.histories, histories, self.totals, self.buckets)
        (counts,) = _find(self.pairs, histories * self.vocabulary + words, self.pair_counts)
        return counts / np.maximum(totals, 1), buckets


@dataclass(frozen=True, eq=False)
class NGram:
    """Fitted n-gram language model.

    Attributes:
        counts: for n = 1, 2, ... up to its order.
        weights: λ_n by bucket, for the same n.
    """

    vocabulary: int
    counts: tuple[NgramCounts, ...]
    weights: tuple[np.ndarray, ...]

    @classmethod
    def fit(cls, targets: Targets, vocabulary: int) -> 'NGram':
        """Count all targets, with weights that suit a held-out tenth when the others are counted."""
        count = len(targets.words)
        held = np.arange(count) * max(1, min(_STRETCHES, count)) // max(1, count) % 10 == 9
        levels = _look_up(_counted(targets[~held], vocabulary), targets[held])
        weights = [np.where(np.arange(_BUCKETS) > 0, 0.5, 0.0) for _ in levels]
        for _ in range(_ITERATIONS):
            weights = _improved(weights, levels, vocabulary)
        return cls(vocabulary, _counted(targets, vocabulary), tuple(weights))

    def probabilities(self, targets: Targets) -> np.ndarray:
        """Return p(w | h) of each target."""
        levels = _look_up(self.counts, targets)
        stays = [weight[bucket] for weight, (_, bucket) in zip(self.weights, levels, strict=True)]
        return _mixtures([estimate for estimate, _ in levels], stays, self.vocabulary)[-1]


def trigram_nats(train: TextSplit, validation: TextSplit, vocabulary: int, /) -> float:
    """Return the mean loss of a trigram model of the training split on the validation split.

    Returns:
        Nats a target.

    Raises:
        UserError: the vocabulary is smaller than a token, or too large.
    """
    return _nats(train, validation, vocabulary, 3)


def bigram_nats(train: TextSplit, validation: TextSplit, vocabulary: int, /) -> float:
    """Return the same of a bigram model."""
    return _nats(train, validation, vocabulary, 2)


def targets_of(split: TextSplit, vocabulary: int) -> Targets:
    """Return each target of a split once, in the order of its stream, with the histories its piece has.

    Of a long text, these are the first 4 million targets, or as many of each source of a mixture as this allows.

    Raises:
        UserError: the vocabulary is smaller than a token, or too large.
    """
    most = _MOST_TARGETS // len(split.streams)
    words, histories = zip(*(_targets_of(rows, vocabulary, most) for rows in split.streams), strict=True)
    return Targets(np.concatenate(words), tuple(map(np.concatenate, zip(*histories, strict=True))))


def _targets_of(rows: Rows, vocabulary: int, most: int) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    starts, lengths = rows.pieces()
    counts = lengths.astype(np.int64) - 1
    kept = np.searchsorted(np.cumsum(counts), most) + 1
    starts, counts = starts[:kept], counts[:kept]
    place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    at = np.repeat(starts + 1, counts) + place
    words, last, earlier = (rows.tokens[at - back].astype(np.int64) for back in range(ORDER))
    largest = max(words.max(initial=0), last.max(initial=0))
    if not largest < vocabulary <= _MOST_TOKENS:
        raise UserError(
            f'vocabulary: {vocabulary} must lie above the largest token, {largest}, and be at most {_MOST_TOKENS}'
        )
    pairs = np.where(place > 0, earlier * vocabulary + last, -1)
    return words, (np.zeros_like(words), last, pairs)


def _nats(train: TextSplit, validation: TextSplit, vocabulary: int, order: int) -> float:
    known, asked = (targets_of(split, vocabulary).of_order(order) for split in (train, validation))
    return float(-np.log(NGram.fit(known, vocabulary).probabilities(asked)).mean())


def _counted(targets: Targets, vocabulary: int) -> tuple[NgramCounts, ...]:
    return tuple(NgramCounts.of(history, targets.words, vocabulary) for history in targets.histories)


def _look_up(counts: Sequence[NgramCounts], targets: Targets) -> list[tuple[np.ndarray, np.ndarray]]:
    return [level.look_up(history, targets.words) for level, history in zip(counts, targets.histories, strict=True)]


def _mixtures(estimates: Sequence[np.ndarray], stays: Sequence[np.ndarray], vocabulary: int) -> list[np.ndarray]:
    """Return p_1, p_2, ... of each target."""
    mixtures = [np.full(len(estimates[0]), 1 / vocabulary)]
    for estimate, stay in zip(estimates, stays, strict=True):
        mixtures.append(stay * estimate + (1 - stay) * mixtures[-1])
    return mixtures[1:]


def _improved(
    weights: Sequence[np.ndarray], levels: Sequence[tuple[np.ndarray, np.ndarray]], vocabulary: int
) -> list[np.ndarray]:
    """Take a step of expectation maximisation: λ by bucket under which the held-out targets are more likely."""
    stays = [weight[bucket] for weight, (_, bucket) in zip(weights, levels, strict=True)]
    mixtures = _mixtures([estimate for estimate, _ in levels], stays, vocabulary)
    reaches = np.ones_like(mixtures[0])  # the probability that a target was drawn at this level or below
    improved = []
    for (estimate, bucket), stay, mixture in reversed(list(zip(levels, stays, mixtures, strict=True))):
        drawn = reaches * stay * estimate / mixture
        # One more of each outcome keeps λ from 0 and 1, hence every loss finite.
        above = np.bincount(bucket, drawn, minlength=_BUCKETS) + 1
        below = np.bincount(bucket, reaches, minlength=_BUCKETS) + 2
        improved.append(np.where(np.arange(_BUCKETS) > 0, above / below, 0.0))
        reaches = reaches - drawn
    return improved[::-1]


def _find(keys: np.ndarray, wanted: np.ndarray, *columns: np.ndarray) -> list[np.ndarray]:
    """Return the columns at the requested keys, 0 for a missing key."""
    if not len(keys):
        return [np.zeros(len(wanted), np.int64) for _ in columns]
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    found = keys[at] == wanted
    return [np.where(found, column[at], 0) for column in columns]


def _log2(counts: np.ndarray) -> np.ndarray:
    """Return the floor of the logarithm of positive integers."""
    return np.frexp(counts)[1].astype(np.int64) - 1
