# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Unigram tokenizer: subwords by a unigram language model; a word is cut in the most probable way.

    p(word) = Σ_{ways x to cut it} Π_i p(x_i),   Σ_pieces p(x) = 1,   L = Σ_words count(word) log p(word)

Kudo, 2018, Subword Regularization: Improving Neural Network Translation Models with Multiple Subword Candidates,
section 3.2, https://arxiv.org/abs/1804.10959: from a large vocabulary of substrings, p is fitted to L by EM, and the
pieces that L misses least are left out, in turns. Ours is plain EM, in one thread, so each training gives the same
(SentencePiece's has a prior, and the library's differs from run to run). Words are cut much as the BPE here cuts them.
Not decoded to what they were: characters not trained on, which are [UNK], and U+2581, which stands for a space. The
time is linear in the different words.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import tokenizers
from tokenizers import decoders, models, pre_tokenizers

from saccade.data.tokenizer.subword import Subword
from saccade.data.tokenizer.tokenizer import UNKNOWN, Tokenizer

__all__ = ['Unigram']

_SPACE = '\u2581'
# Letters, digits, others, white space: GPT-2's, save that accents stay with their letters.
_WORDS = r' ?[\p{L}\p{M}]+| ?\p{N}+| ?[^\s\p{L}\p{M}\p{N}]+|\s+(?!\S)|\s+'
_LONGEST = 16  # characters of a piece, as in SentencePiece
_SEEDS = 10  # times the vocabulary
_KEPT = 0.8  # of the pieces at a time: η of section 3.2
_STEPS = 2  # of EM between two times
# Decimals of a logarithm in nats: the library reads a number of 16 digits back as its neighbour.
_DECIMALS = 6
_LEAST = 1e-12  # times that a piece is expected at least, so that it has a logarithm


@dataclass(frozen=True)
class Unigram(Subword):
    """Unigram tokenizer: pieces of words, each character among them. White space is kept; a space begins a word."""

    mark: ClassVar[str] = _SPACE

    def train(self, texts: Iterable[str]) -> Tokenizer:
        """Learn the pieces of the texts, the most probable first.

        Raises:
            UserError: the texts hold no word, or too many characters for the vocabulary.
        """
        words = self._counted(texts)
        scores = fitted(words, self._room(len(set().union(*words))))
        return self.finished(self._backend(sorted(scores.items(), key=lambda item: (-item[1], item[0]))))

    def _cutter(self) -> tokenizers.Tokenizer:
        return self._backend([])

    def _backend(self, scores: Sequence[tuple[str, float]]) -> tokenizers.Tokenizer:
        known = [(name, 0.0) for name in self.known]
        backend = tokenizers.Tokenizer(models.Unigram([*known, *scores], self.known.index(UNKNOWN)))
        # A space belongs to the word after it, so what is decoded in parts needs no more between them.
        marking = pre_tokenizers.Metaspace(_SPACE, prepend_scheme='never', split=False)
        cutting = pre_tokenizers.Split(tokenizers.Regex(_WORDS), 'isolated')
        backend.pre_tokenizer = pre_tokenizers.Sequence([cutting, marking])
        backend.decoder = decoders.Metaspace(_SPACE, prepend_scheme='never')
        return backend


@dataclass(frozen=True, eq=False)
class Lattice:
    """Lattice of all ways to cut words: edges from place to place between the characters, a piece on each.

    Attributes:
        edges: [edges, 4] the number of the piece, the place before it, the place after it, and how many characters
            of the word that is; ascending in the last.
        begins: [words] the place before each word.
        ends: [words] the place after it.
    """

    edges: np.ndarray
    begins: np.ndarray
    ends: np.ndarray

    @classmethod
    def of(cls, words: Iterable[str], numbers: Mapping[str, int]) -> 'Lattice':
        """Find the pieces in each word, of at most `_LONGEST` characters."""
        words = [*words]
        lengths = np.array([len(word) for word in words])
        ends = np.cumsum(lengths + 1) - 1
        begins = ends - lengths
        edges = np.fromiter(_edges(words, begins.tolist(), numbers), np.dtype((np.int64, 4)))
        return cls(edges[np.argsort(edges[:, 3], kind='stable')], begins, ends)

    def of_pieces(self, kept: np.ndarray) -> 'Lattice':
        """The same with some of the pieces alone; [pieces] booleans."""
        return Lattice(self.edges[kept[self.edges[:, 0]]], self.begins, self.ends)

    def of_parts(self) -> 'Lattice':
        """The same without the pieces that are all of a word."""
        whole = np.isin(self.edges[:, 1], self.begins) & np.isin(self.edges[:, 2], self.ends)
        return Lattice(self.edges[~whole], self.begins, self.ends)

    def totals(self, scores: np.ndarray) -> np.ndarray:
        """Return the logarithm of the probability of all ways from the word's beginning to each place [places]."""
        totals = np.full(self.ends[-1] + 1, -np.inf)
        totals[self.begins] = 0
        for pieces, starts, stops in self._steps():
            np.logaddexp.at(totals, stops, totals[starts] + scores[pieces])
        return totals

    def expected(self, scores: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Return how often each piece is expected in words that occur so often [words]: the gradient of L."""
        totals = self.totals(scores)
        flow = np.zeros_like(totals)
        flow[self.ends] = counts
        expected = np.zeros_like(scores)
        for pieces, starts, stops in reversed(self._steps()):
            shares = flow[stops] * np.exp(totals[starts] + scores[pieces] - totals[stops])
            flow[starts] += shares  # each is there once, for all these edges end at one depth
            np.add.at(expected, pieces, shares)
        return expected

    def _steps(self) -> list[np.ndarray]:
        """The edges [3, edges] that end after 1, 2, ... characters."""
        return np.split(self.edges[:, :3].T, np.flatnonzero(np.diff(self.edges[:, 3])) + 1, axis=-1)


def fitted(words: Mapping[str, int], most: int) -> dict[str, float]:
    """Return the pieces, at most so many but all characters, with the logarithms [nats] of their probabilities."""
    seeds = _seeds(words, _SEEDS * most)
    numbers = {piece: number for number, piece in enumerate(seeds)}
    lattice, others = Lattice.of(words, numbers), Lattice.of(seeds, numbers).of_parts()
    counts, scores = np.array([*words.values()], float), _logarithms(np.array([*seeds.values()], float))
    kept = np.ones(len(seeds), bool)
    while True:
        for _ in range(_STEPS):
            scores = improved(lattice, scores, counts)
        if kept.sum() <= most:
            return {piece: round(scores[number], _DECIMALS) for piece, number in numbers.items() if kept[number]}
        missed = np.where(kept, losses(lattice, others, scores, counts), -1)
        kept[np.argsort(-missed, kind='stable')[max(most, int(_KEPT * kept.sum())) :]] = False
        lattice, others = lattice.of_pieces(kept), others.of_pieces(kept)


def improved(lattice: Lattice, scores: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return better scores [pieces] for words that occur so often [words]: one step of EM."""
    return _logarithms(lattice.expected(scores, counts))


def losses(lattice: Lattice, others: Lattice, scores: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return how much of L goes with each piece [nats], when it is cut in all other ways: a character, in none."""
    expected = np.maximum(lattice.expected(scores, counts), _LEAST)
    return expected * (scores - others.totals(scores)[others.ends])


def _logarithms(counts: np.ndarray) -> np.ndarray:
    counts = np.maximum(counts, _LEAST)
    return np.log(counts / counts.sum())


def _seeds(words: Mapping[str, int], most: int) -> dict[str, int]:
    """Count the characters, and those substrings that occur twice or more and cover most characters."""
    counts = Counter()
    for word, count in words.items():
        for start in range(len(word)):
            for stop in range(start + 1, min(start + _LONGEST, len(word)) + 1):
                counts[word[start:stop]] += count
    single = [piece for piece in counts if len(piece) == 1]
    longer = [piece for piece, count in counts.items() if len(piece) > 1 and count > 1]
    longer.sort(key=lambda piece: (-counts[piece] * len(piece), piece))
    return {piece: counts[piece] for piece in [*single, *longer[:most]]}


def _edges(words: Sequence[str], begins: Sequence[int], numbers: Mapping[str, int]) -> Iterator[tuple[int, ...]]:
    for word, begin in zip(words, begins, strict=True):
        for stop in range(1, len(word) + 1):
            for start in range(max(0, stop - _LONGEST), stop):
                number = numbers.get(word[start:stop])
                if number is not None:
                    yield number, begin + start, begin + stop, stop
