# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of labelled sounds, one sound per row, whose frames are computed on demand."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from saccade.data.audio.log_mel import LogMel
from saccade.data.audio.wav import read_wav
from saccade.data.frames.rows import blank, row_of
from saccade.data.split import Row, Split
from saccade.types import UserError


@runtime_checkable
class SoundSource(Protocol):
    """Protocol of sounds with random access by index: mono samples from -1 to 1."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> Float[np.ndarray, '_']: ...

    def place(self, index: int) -> str:
        """Return the place of a sound, for messages."""
        ...


@dataclass(frozen=True, eq=False)
class SoundFiles:
    """Sounds in WAV files; channels are averaged. Attributes: paths; rate, samples per second."""

    paths: Sequence[Path]
    rate: int

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Float[np.ndarray, '_']:
        path = self.paths[index]
        if not path.exists():
            raise UserError(f'{path}: there is no such file')
        rate, samples = read_wav(path)
        if rate != self.rate:
            raise UserError(
                f'{path}: has {rate} samples a second, where data.processor.rate is {self.rate}; resample it first'
            )
        return samples.mean(axis=-1)

    def place(self, index: int) -> str:
        """Return the path of a sound."""
        return str(self.paths[index])


@dataclass(frozen=True, eq=False)
class SoundRows:
    """Rows of labelled sounds.

    Attributes:
        sounds; labels, class of each; processor.
        context_length: number of frames per row; longer sounds are truncated.
    """

    sounds: SoundSource
    labels: Int[np.ndarray, 'sounds']
    processor: LogMel
    context_length: int

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, row: int) -> Row:
        frames = self.processor(self.sounds[row], self.sounds.place(row))[: self.context_length]
        return row_of(frames, self.context_length) | {'example': np.int32(row), 'label': np.int32(self.labels[row])}

    def padding(self) -> Row:
        """Return a row of padding."""
        return blank(self.context_length, self.processor.mels)


@dataclass(frozen=True, eq=False, kw_only=True)
class SoundSplit(Split):
    """Split of labelled sounds. Attributes: names of the classes."""

    rows: SoundRows
    names: tuple[str, ...]
    unit: str = 'sounds'

    @property
    def answers(self) -> np.ndarray:
        """Class of each sound."""
        return self.rows.labels
