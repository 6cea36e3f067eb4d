# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Unigram tokenizer: subwords by a unigram language model; a word is segmented in the most probable way.

    p(word) = Σ_{segmentations x} Π_i p(x_i),   Σ_pieces p(x) = 1,   L = Σ_words count(word) log p(word)

Kudo, 2018, Subword Regularization: Improving Neural Network Translation Models with Multiple Subword Candidates,
section 3.2, https://arxiv.org/abs/1804.10959: starting from a large vocabulary of substrings, alternately fit p to L by
EM, and drop the pieces whose loss decreases L least. This is plain EM in one thread, so training is deterministic
(SentencePiece's EM has a prior, and the library's result differs from run to run). Words are split much as by the BPE
here. Decoding is lossy for characters outside the training text, which are [UNK], and for U+2581, which represents a
space. The time is linear in the number of distinct words.
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
# Letters, digits, others, white space: GPT-2's pattern, except that accents stay with their letters.
_WORDS = r' ?[\p{L}\p{M}]+| ?\p{N}+| ?[^\s\p{L}\p{M}\p{N}]+|\s+(?!\S)|\s+'
_LONGEST = 16  # maximum characters per piece, as in SentencePiece
_SEEDS = 10  # number of initial substrings, as a multiple of the vocabulary
_KEPT = 0.8  # fraction of the pieces to keep per round: η of section 3.2
_STEPS = 2  # EM steps per round
# Decimals of a logarithm in nats: the library reads a number of 16 digits back with an error.
_DECIMALS = 6
_LEAST = 1e-12  # minimum expected count of a piece, so that it has a logarithm


@dataclass(frozen=True)
class Unigram(Subword):
    """Unigram tokenizer: pieces of words, including each character. White space is preserved; a space begins a word."""

    mark: ClassVar[str] = _SPACE

    def train(self, texts: Iterable[str]) -> Tokenizer:
        """Learn the pieces from the texts, the most probable first.

        Raises:
            UserError: the texts have no words, or too many characters for the vocabulary.
        """
        words = self._counted(texts)
        scores = fitted(words, self._room(len(set().union(*words))))
        return self.finished(self._backend(sorted(scores.items(), key=lambda item: (-item[1], item[0]))))

    def _cutter(self) -> tokenizers.Tokenizer:
        return self._backend([])

    def _backend(self, scores: Sequence[tuple[str, float]]) -> tokenizers.Tokenizer:
        known = [(name, 0.0) for name in self.known]
        backend = tokenizers.Tokenizer(models.Unigram([*known, *scores], self.known.index(UNKNOWN)))
        # A space belongs to the word after it, so parts decoded separately can be concatenated.
        marking = pre_tokenizers.Metaspace(_SPACE, prepend_scheme='never', split=False)
        cutting = pre_tokenizers.Split(tokenizers.Regex(_WORDS), 'isolated')
        backend.pre_tokenizer = pre_tokenizers.Sequence([cutting, marking])
        backend.decoder = decoders.Metaspace(_SPACE, prepend_scheme='never')
        return backend


@dataclass(frozen=True, eq=False)
class Lattice:
    """Lattice of all segmentations of words: edges between positions between characters, each with a piece.

    Attributes:
        edges: [edges, 4] piece index, start position, stop position, and stop position within the word in characters;
            sorted by the last.
        begins: [words] start position of each word.
        ends: [words] stop position of each word.
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
        """Return the lattice with only some of the pieces; `kept` is a boolean per piece."""
        return Lattice(self.edges[kept[self.edges[:, 0]]], self.begins, self.ends)

    def of_parts(self) -> 'Lattice':
        """Return the lattice without edges that span a whole word."""
        whole = np.isin(self.edges[:, 1], self.begins) & np.isin(self.edges[:, 2], self.ends)
        return Lattice(self.edges[~whole], self.begins, self.ends)

    def totals(self, scores: np.ndarray) -> np.ndarray:
        """Return the log-probability, summed over segmentations, of the word up to each position [positions]."""
        totals = np.full(self.ends[-1] + 1, -np.inf)
        totals[self.begins] = 0
        for pieces, starts, stops in self._steps():
            np.logaddexp.at(totals, stops, totals[starts] + scores[pieces])
        return totals

    def expected(self, scores: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Return the expected count of each piece in words with these counts [words]: the gradient of L."""
        totals = self.totals(scores)
        flow = np.zeros_like(totals)
        flow[self.ends] = counts
        expected = np.zeros_like(scores)
        for pieces, starts, stops in reversed(self._steps()):
            shares = flow[stops] * np.exp(totals[starts] + scores[pieces] - totals[stops])
            flow[starts] += shares  # no index repeats, since these edges all stop at one depth
            np.add.at(expected, pieces, shares)
        return expected

    def _steps(self) -> list[np.ndarray]:
        """Return the edges [3, edges] that stop after 1, 2, ... characters."""
        return np.split(self.edges[:, :3].T, np.flatnonzero(np.diff(self.edges[:, 3])) + 1, axis=-1)


def fitted(words: Mapping[str, int], most: int) -> dict[str, float]:
    """Return at most `most` pieces, including all characters, with their log-probabilities [nats]."""
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
    """Return better scores [pieces] for words with these counts [words], by one step of EM."""
    return _logarithms(lattice.expected(scores, counts))


def losses(lattice: Lattice, others: Lattice, scores: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the decrease of L [nats] if each piece is segmented otherwise; infinite for single characters."""
    expected = np.maximum(lattice.expected(scores, counts), _LEAST)
    return expected * (scores - others.totals(scores)[others.ends])


def _logarithms(counts: np.ndarray) -> np.ndarray:
    counts = np.maximum(counts, _LEAST)
    return np.log(counts / counts.sum())


def _seeds(words: Mapping[str, int], most: int) -> dict[str, int]:
    """Count all characters, and the repeated substrings that cover most characters."""
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
