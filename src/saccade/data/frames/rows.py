# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of labelled or valued sequences of frames, one sequence per row, padded to the longest."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int, Num

from saccade.data.split import Row, Split
from saccade.types import IGNORED

UNLABELLED: Row = {'label': np.int32(IGNORED)}
UNVALUED: Row = {'value': np.float32(np.nan)}


@dataclass(frozen=True, eq=False)
class FrameRows:
    """Rows of labelled or valued sequences of frames, built lazily.

    Attributes:
        frames: frames of all sequences, concatenated.
        starts: start of each sequence among them, and the end of the last.
        labels: class or value of each sequence.
        context_length: number of frames per row.
        unlabelled: the answer of a row of padding, by its name in a batch.
    """

    frames: Float[np.ndarray, 'frames F']
    starts: Int[np.ndarray, 'ends']
    labels: Num[np.ndarray, 'sequences']
    context_length: int
    unlabelled: Row

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, row: int) -> Row:
        frames = self.frames[self.starts[row] : self.starts[row + 1]]
        answer = {name: none.dtype.type(self.labels[row]) for name, none in self.unlabelled.items()}
        return row_of(frames, self.context_length) | {'example': np.int32(row)} | answer

    def padding(self) -> Row:
        """Return a row of padding."""
        return blank(self.context_length, self.frames.shape[1], self.unlabelled)


@dataclass(frozen=True, eq=False, kw_only=True)
class FrameSplit(Split):
    """Split of labelled or valued sequences of frames. Attributes: names of the classes, none of values."""

    rows: FrameRows
    names: tuple[str, ...]
    unit: str = 'examples'

    @property
    def answers(self) -> np.ndarray:
        """Class or value of each sequence."""
        return self.rows.labels


def row_of(frames: Float[np.ndarray, 'T F'], context_length: int) -> Row:
    """Return the arrays of one sequence, padded."""
    places, room = np.arange(context_length), context_length - len(frames)
    there = places < len(frames)
    return {
        'frames': np.pad(frames, ((0, room), (0, 0))).astype(np.float32),
        'segments': there.astype(np.int32),
        'positions': np.where(there, places, 0).astype(np.int32),
    }


def blank(context_length: int, bands: int, unlabelled: Row = UNLABELLED) -> Row:
    """Return a row of padding."""
    nothing = row_of(np.zeros((0, bands), np.float32), context_length)
    return nothing | {'example': np.int32(-1)} | unlabelled
