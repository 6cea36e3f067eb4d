# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""How the sentences of documents become rows of one text or of two: what a config's `pairing` names.

A row is two spans of the stream of tokens and a label. Sentences are taken in order until a row is full, as in
https://github.com/google-research/bert, create_pretraining_data.py; here a pair is true or false by a fair coin,
and what is too long loses tokens at its end. Labels are those of the published heads.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from saccade.types import IGNORED, UserError

Span = tuple[int, int]  # start and stop in the stream


class Pair(NamedTuple):
    """Attributes: two spans, of which the second may be empty; the class of the two."""

    first: Span
    second: Span
    label: int


@runtime_checkable
class Pairing(Protocol):
    """Attributes: texts, how many a row has; classes of its label, none where there is no label."""

    texts: int
    classes: int

    def pairs(self, documents: Sequence[np.ndarray], room: int, draw: np.random.Generator) -> Iterator[Pair]:
        """Yield the rows of documents.

        Args:
            documents: for each, [sentences, 2]: where each of its sentences starts and stops in the stream.
            room: tokens of a row, special tokens not counted.
            draw: whatever is random.
        """
        ...


@dataclass(frozen=True)
class OnePassage:
    """Sentences of one document, as many as fit: RoBERTa's DOC-SENTENCES, section 4.2 of 1907.11692."""

    texts = 1
    classes = 0

    def pairs(self, documents: Sequence[np.ndarray], room: int, draw: np.random.Generator) -> Iterator[Pair]:
        for sentences in documents:
            for start, stop in _passages(sentences, room):
                yield Pair((start, stop), (stop, stop), IGNORED)


@dataclass(frozen=True)
class NextSentence:
    """The second text follows the first (0), or is of another document (1): Devlin et al. 2019, section 3.1."""

    texts = 2
    classes = 2

    def pairs(self, documents: Sequence[np.ndarray], room: int, draw: np.random.Generator) -> Iterator[Pair]:
        if len(documents) < 2:
            raise UserError('data.pairing: NextSentence takes false pairs from other documents, and there is but one')
        for number, sentences in enumerate(documents):
            for passage in _passages(sentences, room):
                first, second = _cut(passage, sentences, draw)
                if draw.random() < 0.5:
                    yield Pair(first, second, 0)
                else:
                    other = documents[_another(number, len(documents), draw)]
                    yield Pair(first, _from_somewhere(other, room - (first[1] - first[0]), draw), 1)


@dataclass(frozen=True)
class SentenceOrder:
    """Two texts that follow each other, in order (0) or swapped (1): Lan et al. 2020, "ALBERT", section 3.1."""

    texts = 2
    classes = 2

    def pairs(self, documents: Sequence[np.ndarray], room: int, draw: np.random.Generator) -> Iterator[Pair]:
        for sentences in documents:
            for passage in _passages(sentences, room):
                first, second = _cut(passage, sentences, draw)
                yield Pair(first, second, 0) if draw.random() < 0.5 else Pair(second, first, 1)


def _passages(sentences: np.ndarray, room: int) -> Iterator[Span]:
    """Join sentences while they fit; one that does not fit by itself is cut. A lone token is left out."""
    start = stop = int(sentences[0, 0])
    for sentence_stop in sentences[:, 1].tolist():
        if sentence_stop - start > room and stop > start:
            yield from _long_enough(start, stop)
            start = stop
        while sentence_stop - start > room:
            yield start, start + room
            start += room
        stop = sentence_stop
    yield from _long_enough(start, stop)


def _long_enough(start: int, stop: int) -> Iterator[Span]:
    if stop - start > 1:
        yield start, stop


def _cut(passage: Span, sentences: np.ndarray, draw: np.random.Generator) -> tuple[Span, Span]:
    """Cut a passage in two where a sentence ends, or anywhere if none does."""
    start, stop = passage
    ends = sentences[:, 1]
    inside = ends[np.searchsorted(ends, start, 'right') : np.searchsorted(ends, stop)]
    at = int(draw.choice(inside)) if len(inside) else int(draw.integers(start + 1, stop))
    return (start, at), (at, stop)


def _another(number: int, count: int, draw: np.random.Generator) -> int:
    """Another document than this one."""
    return (number + 1 + int(draw.integers(count - 1))) % count


def _from_somewhere(sentences: np.ndarray, room: int, draw: np.random.Generator) -> Span:
    """Sentences from a random one on, as far as they fit; the last is cut if it is the first too."""
    begin = int(draw.integers(len(sentences)))
    start = int(sentences[begin, 0])
    stops = sentences[begin:, 1]
    fitting = int(np.searchsorted(stops, start + room, 'right'))
    return start, int(stops[fitting - 1]) if fitting else start + room
