# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Document of a corpus: its text, whole or in parts, its id, its stored features, and the draw for its split."""

import hashlib
import itertools
import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from saccade.data.cache import each

# Characters of a part. Tokenising takes some hundred bytes of memory per character, so a long document is cut.
PART = 1 << 18
# Of a text from its end to its start: a line end between words, a space between words, any white space.
_MARKS = [re.compile(mark) for mark in (r'(?<=\S)(?P<at>)\n\r?(?=\S)', r'(?<=\S) (?P<at>)(?=\S)', r'(?P<at>)[\n ]')]


class Document(ABC):
    """Document. Attributes: id, unique within the split."""

    id: str

    @abstractmethod
    def parts(self) -> Iterator[str]:
        """Yield the text in parts of at most `PART` characters, cut as by `cut`."""


@dataclass(frozen=True)
class TextDocument(Document):
    """Document whose text is in memory."""

    id: str
    text: str

    def parts(self) -> Iterator[str]:
        """Yield the text in parts."""
        start = 0
        while len(self.text) - start > PART:
            part = self.text[start : start + PART]
            part = part[: cut(part)]
            yield part
            start += len(part)
        yield self.text[start:]


class Excerpt(NamedTuple):
    """Part of a document. Attributes: id, of the document; last, True for its last part."""

    id: str
    text: str
    last: bool


def parts_of(documents: Sequence[Document]) -> Iterator[Excerpt]:
    """Yield the parts of each document, read on demand."""
    for document in each(documents):
        parts = document.parts()
        part = next(parts)
        for later in parts:
            yield Excerpt(document.id, part, False)
            part = later
        yield Excerpt(document.id, part, True)


def cut(text: str) -> int:
    """Return the number of characters to take off the start of a text that goes on.

    It is cut in its second half, after a line end or before a space that has no other white space around it: tokenizers
    that first split a text into words give both sides the tokens that they have together. Without such a place it is
    cut after the last white space there, else nowhere.
    """
    half = len(text) // 2
    for mark in _MARKS:
        if found := mark.search(text[:half:-1]):
            return len(text) - found.start('at')
    return len(text) - text.endswith('\r')


def features() -> 'tensorflow_datasets.features.FeaturesDict':
    """Return the features of a document in our own builders."""
    import tensorflow_datasets as tfds

    return tfds.features.FeaturesDict({'id': tfds.features.Text(), 'text': tfds.features.Text()})


def draw(id: str) -> float:
    """Return a number in [0, 1) that depends only on the id.

    Documents with a draw below a fraction form a split, so no document changes its split when others come or go.
    """
    return drawn(hashlib.sha256(id.encode()).digest())


def drawn(sha256: bytes) -> float:
    """Return the draw of an id, or of content, with this hash."""
    return int.from_bytes(sha256[:6]) / 2**48


def lowest(draws: np.ndarray, fraction: float) -> np.ndarray:
    """Return a flag for each draw below the fraction: at least one is True, and not all if it is below 1."""
    count = min(max(int((draws < fraction).sum()), 1), len(draws) - (fraction < 1))
    chosen = np.zeros(len(draws), bool)
    chosen[np.argsort(draws, kind='stable')[:count]] = True
    return chosen


def held_out(ids: Collection[str], validation: float) -> set[str]:
    """Return the ids for validation, by `lowest`."""
    return set(itertools.compress(ids, lowest(np.array([draw(id) for id in ids]), validation)))
