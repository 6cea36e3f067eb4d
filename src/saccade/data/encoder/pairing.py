# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sentence pairing for pretraining: sentences of documents become rows of one or two texts (a config's `pairing`).

A row is two spans of the token stream and a label. Sentences are taken in order until a row is full, as in
https://github.com/google-research/bert, create_pretraining_data.py; here a pair is true or false by a fair coin, and a
sentence longer than a row is cut. Labels are as in the published heads.
"""

import functools
import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from saccade.types import IGNORED

__all__ = ['NextSentence', 'OnePassage', 'SentenceOrder']

_LOG = logging.getLogger(__name__)

Span = tuple[int, int]  # start and stop in the stream


class TextPair(NamedTuple):
    """Row of one or two texts. Attributes: first and second, spans, the second may be empty; label, the class of the
    pair.
    """

    first: Span
    second: Span
    label: int


@runtime_checkable
class Pairing(Protocol):
    """Protocol of a pairing method, the `pairing` of a config.

    Attributes: texts, number of texts per row; classes, number of labels, 0 for none.
    """

    texts: int
    classes: int

    def pairs(self, documents: Sequence[np.ndarray], room: int, draw: np.random.Generator) -> Iterator[TextPair]:
        """Yield the rows of documents.

        Args:
            documents: for each, [sentences, 2]: start and stop of each of its sentences in the stream.
            room: number of tokens per row, without special tokens.
            draw: random generator.
        """
        ...


@dataclass(frozen=True)
class OnePassage:
    """DOC-SENTENCES of RoBERTa: as many sentences of one document as fit; section 4.2 of arXiv 1907.11692."""

    texts = 1
    classes = 0

    def pairs(self, documents: Sequence[np.ndarray], room: int, draw: np.random.Generator) -> Iterator[TextPair]:
        """Yield passages of one document each, as the first text of rows without a label."""
        for sentences in documents:
            for start, stop in _passages(sentences, room):
                yield TextPair((start, stop), (stop, stop), IGNORED)


@dataclass(frozen=True)
class NextSentence:
    """Next sentence prediction: the second text follows the first (0), or is from another document (1).

    Devlin et al. 2019, "BERT", section 3.1, https://arxiv.org/abs/1810.04805

    A second text from another document has the same length as the one it replaces, and follows a first text there. In
    BERT's code it fills the row, so its length would reveal the label. Of a single document, other passages replace
    other documents, and a warning says so.
    """

    texts = 2
    classes = 2

    def pairs(self, documents: Sequence[np.ndarray], room: int, draw: np.random.Generator) -> Iterator[TextPair]:
        """Yield pairs of texts with the label 0, or 1 if the second text is from another document."""
        cuts = [
            (number, *_cut(passage, sentences, draw))
            for number, sentences in enumerate(documents)
            for passage in _passages(sentences, room)
        ]
        if len(documents) == 1:
            _say_one_document()
            cuts = [(number, first, second) for number, (_, first, second) in enumerate(cuts)]
        seconds = _by_length((number, second) for number, _, second in cuts)
        for number, first, second in cuts:
            other = _elsewhere(seconds, number, second[1] - second[0], draw) if draw.random() < 0.5 else None
            yield TextPair(first, second, 0) if other is None else TextPair(first, other, 1)


@dataclass(frozen=True)
class SentenceOrder:
    """Sentence order prediction: two texts in order (0) or swapped (1): Lan et al. 2020, "ALBERT", section 3.1."""

    texts = 2
    classes = 2

    def pairs(self, documents: Sequence[np.ndarray], room: int, draw: np.random.Generator) -> Iterator[TextPair]:
        """Yield pairs of adjacent texts, with the label 0 in order and 1 swapped."""
        for sentences in documents:
            for passage in _passages(sentences, room):
                first, second = _cut(passage, sentences, draw)
                yield TextPair(first, second, 0) if draw.random() < 0.5 else TextPair(second, first, 1)


@functools.cache
def _say_one_document() -> None:
    """Warn once, not for each split and copy."""
    _LOG.warning(
        'data.pairing: there is only one document, so false pairs are from other passages of it; with '
        "--config.data.divide='\\n\\n' each paragraph is a document"
    )


def _passages(sentences: np.ndarray, room: int) -> Iterator[Span]:
    """Join sentences while they fit; a sentence that is too long is cut. A single token is skipped."""
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
    """Cut a passage in two at the end of a sentence, or anywhere if there is none inside."""
    start, stop = passage
    ends = sentences[:, 1]
    inside = ends[np.searchsorted(ends, start, 'right') : np.searchsorted(ends, stop)]
    at = int(draw.choice(inside)) if len(inside) else int(draw.integers(start + 1, stop))
    return (start, at), (at, stop)


def _by_length(seconds: Iterable[tuple[int, Span]]) -> dict[int, np.ndarray]:
    """Return the second texts of each length, shortest first: [texts, 2], their document and their start."""
    found: dict[int, list[tuple[int, int]]] = {}
    for number, (start, stop) in seconds:
        found.setdefault(stop - start, []).append((number, start))
    return {length: np.array(found[length]) for length in sorted(found)}


def _elsewhere(seconds: dict[int, np.ndarray], number: int, length: int, draw: np.random.Generator) -> Span | None:
    """Draw a second text of the same length from another document, or the start of the next longer one.

    Return None if no other document has one.
    """
    for texts in (texts for longer, texts in seconds.items() if longer >= length):
        own = slice(*np.searchsorted(texts[:, 0], [number, number + 1]))
        others = len(texts) - (own.stop - own.start)
        if others:
            drawn = int(draw.integers(others))
            start = int(texts[drawn if drawn < own.start else drawn + own.stop - own.start, 1])
            return start, start + length
    return None
