# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Packing: a stream of tokens becomes random-access rows of context + 1 tokens, built lazily.

A row is a dict of int32 arrays [context + 1]: `tokens`, `segments` and `positions`, as in `types.Batch`. Token t of a
row is a target if t >= 1 and its segment is that of t - 1 and not 0. In a stream that is cut into pieces of at most
context + 1 tokens, each beginning with the last token of the previous one, every token but the first is a target
exactly once.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from saccade.data.split import Row, RowSource
from saccade.types import UserError

__all__ = ['Packed', 'Padded', 'Windows']


@runtime_checkable
class Rows(RowSource, Protocol):
    """Protocol of rows with random access."""

    tokens: np.ndarray
    context_length: int

    def pieces(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the starts and lengths, in `tokens`, of pieces that contain each target exactly once."""
        ...


@runtime_checkable
class Pack(Protocol):
    """Protocol of a packing method, the `pack` of a config."""

    def index(self, bounds: np.ndarray, context_length: int, train: bool) -> dict[str, np.ndarray]:
        """Return the small arrays that define the rows, to be stored with the stream.

        Args:
            bounds: [documents, 2], start and stop of each document in the stream. Two neighbours may share a token: the
                end token of one is then the first token of the next.
        """
        ...

    def rows(self, tokens: np.ndarray, index: Mapping[str, np.ndarray], context_length: int) -> Rows:
        """Return rows of context + 1 tokens, from the stream and the arrays of `index`."""
        ...


@dataclass(frozen=True)
class Packed:
    """Sequence packing: several pieces of documents per row, with a segment number each."""

    def index(self, bounds: np.ndarray, context_length: int, train: bool) -> dict[str, np.ndarray]:
        """Cut the documents and pack the pieces, best fit first."""
        starts, lengths = _cut(bounds, context_length)
        return _by_row(starts, lengths, best_fit(lengths, context_length + 1))

    def rows(self, tokens: np.ndarray, index: Mapping[str, np.ndarray], context_length: int) -> Rows:
        """Return rows with one or more pieces each."""
        return PieceRows(tokens, context_length, index['starts'], index['lengths'], index['offsets'])


@dataclass(frozen=True)
class Padded:
    """Padding: one piece of a document per row, followed by padding."""

    def index(self, bounds: np.ndarray, context_length: int, train: bool) -> dict[str, np.ndarray]:
        """Cut the documents."""
        starts, lengths = _cut(bounds, context_length)
        return _by_row(starts, lengths, np.arange(len(starts)))

    def rows(self, tokens: np.ndarray, index: Mapping[str, np.ndarray], context_length: int) -> Rows:
        """Return rows with one piece each."""
        return PieceRows(tokens, context_length, index['starts'], index['lengths'], index['offsets'])


@dataclass(frozen=True)
class Windows:
    """Sliding windows over the documents as one stream: row r has the tokens from r * stride on, as one segment.

    Attributes:
        stride: tokens from one training row to the next; 1 gives every possible window, as sampled by nanoGPT; None for
            the context. Rows of validation are always a context apart, so each token is a target once.
    """

    stride: int | None = None

    def index(self, bounds: np.ndarray, context_length: int, train: bool) -> dict[str, np.ndarray]:
        """Return the stride.

        Raises:
            UserError: the stride would skip tokens, or is not positive.
        """
        if self.stride is not None and not 1 <= self.stride <= context_length:
            raise UserError(f'pack.stride: {self.stride} must lie between 1 and the context of {context_length} tokens')
        return {'stride': np.array([self.stride if train and self.stride else context_length])}

    def rows(self, tokens: np.ndarray, index: Mapping[str, np.ndarray], context_length: int) -> Rows:
        """Return rows that are windows of the stream, `stride` tokens apart."""
        return WindowRows(tokens, context_length, int(index['stride'][0]))


@dataclass(frozen=True, eq=False)
class Rowed:
    """Base of rows over a stream of tokens.

    Attributes: tokens, the stream; context_length, one less than the tokens per row.
    """

    tokens: np.ndarray
    context_length: int

    def padding(self) -> Row:
        """Return a row of padding."""
        return {name: np.zeros(self.context_length + 1, np.int32) for name in ('tokens', 'segments', 'positions')}

    def _filled(self, pieces: Iterable[tuple[int, int]]) -> Row:
        """Return a row of these pieces, given by (start, length), each a separate segment."""
        row = self.padding()
        at = 0
        for segment, (start, length) in enumerate(pieces, 1):
            span = slice(at, at + length)
            row['tokens'][span] = self.tokens[start : start + length]
            row['segments'][span] = segment
            row['positions'][span] = np.arange(length)
            at += length
        return row


@dataclass(frozen=True, eq=False)
class PieceRows(Rowed):
    """Rows of pieces: row r has the pieces offsets[r] to offsets[r + 1] (exclusive)."""

    starts: np.ndarray
    lengths: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> Row:
        _check_row(row, len(self))
        pieces = slice(self.offsets[row], self.offsets[row + 1])
        return self._filled(zip(self.starts[pieces], self.lengths[pieces], strict=True))

    def pieces(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the starts and lengths of all pieces, sorted by their position in the stream."""
        order = np.argsort(self.starts, kind='stable')
        return self.starts[order], self.lengths[order]


@dataclass(frozen=True, eq=False)
class WindowRows(Rowed):
    """Rows that are windows of the stream, `stride` tokens apart."""

    stride: int

    def __len__(self) -> int:
        return 1 + max(0, -(-(len(self.tokens) - self.context_length - 1) // self.stride))

    def __getitem__(self, row: int) -> Row:
        _check_row(row, len(self))
        start = row * self.stride
        length = min(self.context_length + 1, len(self.tokens) - start)
        return self._filled([(start, length)])

    def pieces(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the starts and lengths, in tokens, of windows that contain each target exactly once."""
        return _cut(np.array([[0, len(self.tokens)]]), self.context_length)


def best_fit(lengths: np.ndarray, capacity: int) -> np.ndarray:
    """Return the row of each piece: best fit, longest pieces first, into rows of `capacity` tokens.

    Rows are numbered in the order of their first pieces.

    Raises:
        UserError: a piece is longer than a row.
    """
    if lengths.max(initial=0) > capacity:
        raise UserError(f'a piece of {lengths.max()} tokens does not fit a row of {capacity}')
    rows = np.empty(len(lengths), np.int64)
    spaces: list[list[int]] = [[] for _ in range(capacity + 1)]
    occupied = 0  # bit s is set if a row has exactly s tokens of space left
    count = 0
    for piece in np.argsort(-lengths, kind='stable').tolist():
        length = int(lengths[piece])
        fitting = occupied >> length
        if fitting:
            space = length + (fitting & -fitting).bit_length() - 1
            row = spaces[space].pop()
            occupied ^= (not spaces[space]) << space
        else:
            space, row, count = capacity, count, count + 1
        rows[piece] = row
        spaces[space - length].append(row)
        occupied |= 1 << (space - length)
    _, first, inverse = np.unique(rows, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse]


def _by_row(starts: np.ndarray, lengths: np.ndarray, rows: np.ndarray) -> dict[str, np.ndarray]:
    order = np.argsort(rows, kind='stable')
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows))])
    return {'starts': starts[order], 'lengths': lengths[order].astype(np.int32), 'offsets': offsets}


def _cut(bounds: np.ndarray, context_length: int) -> tuple[np.ndarray, np.ndarray]:
    """Return starts and lengths of the pieces of documents; a single token has no target and yields none."""
    begins, stops = bounds[:, 0], bounds[:, 1]
    counts = np.maximum(0, -(-(stops - begins - 1) // context_length))
    place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    starts = np.repeat(begins, counts) + place * context_length
    return starts, np.minimum(context_length + 1, np.repeat(stops, counts) - starts)


def _check_row(row: int, count: int) -> None:
    if not 0 <= row < count:
        raise IndexError(f'row {row} of {count}')
