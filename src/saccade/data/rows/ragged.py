# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Ragged arrays: tokens of many texts in one array, and slices of them that fit into a row."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from saccade.data.cache import each, groups
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.types import UserError


@dataclass(frozen=True, eq=False)
class Ragged(Sequence[np.ndarray]):
    """Ragged array: arrays of different lengths in one.

    Attributes:
        values: [N], or [N ...], the values of all arrays.
        spans: [arrays, 2], start and stop of each array in the values; they may overlap.
    """

    values: np.ndarray
    spans: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray, lengths: np.ndarray) -> 'Ragged':
        """Return arrays of these lengths that follow one another."""
        stops = np.cumsum(lengths, dtype=np.int64)
        return cls(values, np.stack([stops - lengths, stops], axis=-1))

    def __len__(self) -> int:
        return len(self.spans)

    def __getitem__(self, index: int) -> np.ndarray:
        start, stop = self.spans[index]
        return self.values[start:stop]

    @property
    def lengths(self) -> np.ndarray:
        """Length of each array."""
        return self.spans[:, 1] - self.spans[:, 0]

    def cut(self, which: np.ndarray, spans: np.ndarray) -> 'Ragged':
        """Return slices of arrays: `which` array each is from, and its start and stop within it, [slices, 2]."""
        return Ragged(self.values, self.spans[which, :1] + spans)


def encoded(texts: Sequence[str], tokenizer: Tokenizer) -> tuple[np.ndarray, np.ndarray]:
    """Return the tokens of all texts, and the number of tokens of each.

    Raises:
        UserError: the tokenizer cannot encode a character.
    """
    dtype = smallest(tokenizer.size)
    tokens, lengths = [np.zeros(0, dtype)], []
    for group in groups(each(texts), len):
        ids = tokenizer.encode_batch(group)
        tokens.append(np.fromiter(itertools.chain.from_iterable(ids), dtype))
        lengths += map(len, ids)
    return np.concatenate(tokens), np.array(lengths, np.int64)


def smallest(size: int) -> type:
    """Return the smallest integer type for the tokens of a vocabulary of this size."""
    return np.uint16 if size <= 1 << 16 else np.uint32


def windows(lengths: np.ndarray, room: int, overlap: int) -> tuple[np.ndarray, np.ndarray]:
    """Cut texts into windows of at most `room` tokens; neighbours overlap by `overlap` tokens.

    Return the text index of each window, and its start and stop within the text, [windows, 2]. Each text has at least
    one window.
    """
    step = room - overlap
    counts = np.maximum(-(-(lengths - overlap) // step), 1)
    which = np.repeat(np.arange(len(lengths)), counts)
    starts = step * (np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts))
    return which, np.stack([starts, np.minimum(starts + room, lengths[which])], axis=-1)


def require_windows(room: int, overlap: int) -> None:
    """Check that a row has room for text, and that windows advance."""
    if room < 1:
        raise UserError('data.context_length: there is no room for text in addition to the special tokens')
    if not 0 <= overlap < room:
        raise UserError(
            f'data.overlap: windows of {room} tokens cannot overlap by {overlap}; it must be at least 0 and less than '
            f'{room}'
        )


def truncated(first: np.ndarray, second: np.ndarray, room: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the lengths of pairs after truncation: the longer text is cut token by token until both fit.

    Devlin et al. 2019, "BERT": `_truncate_seq_pair` of https://github.com/google-research/bert, run_classifier.py.
    """
    kept = np.minimum(first, np.maximum(room - second, room - room // 2))
    return kept, np.minimum(second, np.maximum(room - first, room // 2))
