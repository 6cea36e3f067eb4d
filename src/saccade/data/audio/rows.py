# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of labelled sounds, one sound a row, whose frames are made when they are asked for."""

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
    """Protocol of sounds with random access by number: samples from -1 to 1, of one channel."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> Float[np.ndarray, '_']: ...

    def place(self, index: int) -> str:
        """Where a sound stands, as a message is to name it."""
        ...


@dataclass(frozen=True, eq=False)
class SoundFiles:
    """Sounds in WAV files, of which several channels are averaged. Attributes: paths; rate, samples a second."""

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
        """The path of a sound."""
        return str(self.paths[index])


@dataclass(frozen=True, eq=False)
class SoundRows:
    """Rows of labelled sounds.

    Attributes:
        sounds; labels, the class of each; processor of them.
        context_length: frames of a row; what is beyond is cut off.
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
        """A row of which nothing counts."""
        return blank(self.context_length, self.processor.mels)


@dataclass(frozen=True, eq=False, kw_only=True)
class SoundSplit(Split):
    """Split of labelled sounds. Attributes: names of the classes."""

    rows: SoundRows
    names: tuple[str, ...]
    unit: str = 'sounds'

    @property
    def answers(self) -> np.ndarray:
        """The class of each sound."""
        return self.rows.labels
