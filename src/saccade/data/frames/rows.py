# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of labelled sequences of frames, one sequence per row, padded to the longest."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from saccade.data.split import Row, Split
from saccade.types import IGNORED


@dataclass(frozen=True, eq=False)
class FrameRows:
    """Rows of labelled sequences of frames, built lazily.

    Attributes:
        frames: frames of all sequences, concatenated.
        starts: start of each sequence among them, and the end of the last.
        labels: class of each sequence.
        context_length: number of frames per row.
    """

    frames: Float[np.ndarray, 'frames F']
    starts: Int[np.ndarray, 'ends']
    labels: Int[np.ndarray, 'sequences']
    context_length: int

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, row: int) -> Row:
        frames = self.frames[self.starts[row] : self.starts[row + 1]]
        return row_of(frames, self.context_length) | {'example': np.int32(row), 'label': np.int32(self.labels[row])}

    def padding(self) -> Row:
        """Return a row of padding."""
        return blank(self.context_length, self.frames.shape[1])


@dataclass(frozen=True, eq=False, kw_only=True)
class FrameSplit(Split):
    """Split of labelled sequences of frames. Attributes: names of the classes."""

    rows: FrameRows
    names: tuple[str, ...]
    unit: str = 'examples'

    @property
    def answers(self) -> np.ndarray:
        """Class of each sequence."""
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


def blank(context_length: int, bands: int) -> Row:
    """Return a row of padding."""
    nothing = row_of(np.zeros((0, bands), np.float32), context_length)
    return nothing | {'example': np.int32(-1), 'label': np.int32(IGNORED)}
