# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of the datasets of labelled sounds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import jax

from saccade.data.audio.log_mel import LogMel
from saccade.data.audio.rows import SoundFiles, SoundRows, SoundSplit
from saccade.data.dataset_base import Source
from saccade.data.frames.rows import blank
from saccade.data.labelled_base import Labelled, LabelledFilesBase
from saccade.data.split import batch_of
from saccade.types import Count, NotNegative, UserError

_SETTINGS = ('rate', 'window', 'hop', 'mels', 'low', 'high')


@dataclass(frozen=True, kw_only=True)
class LabelledSoundsBase(LabelledFilesBase):
    """Base of the datasets of labelled sounds.

    Attributes:
        context_length: frames of a row; what is beyond is cut off.
        rate: samples a second.
        window: samples of a frame.
        hop: samples from one frame to the next.
        mels: F, bands of a frame.
        low, high: Hz, where the first band begins and the last one ends; high None: half the rate.
    """

    context_length: Count
    rate: Count = 16_000
    window: Count = 400
    hop: Count = 160
    mels: Count = 40
    low: NotNegative = 0.0
    high: float | None = None

    processes: ClassVar[type[LogMel]] = LogMel
    inputs: ClassVar[Mapping[str, str]] = {'sound': 'sound'}
    example: ClassVar[Mapping[str, str]] = {'sound': 'sound.wav'}
    _key: ClassVar[str] = 'sounds'

    def __post_init__(self) -> None:
        _ = self._described

    @property
    def _described(self) -> LogMel:
        """The processor that the fields describe, without mean and deviation."""
        return LogMel(**{name: getattr(self, name) for name in _SETTINGS})

    def batch_like(self, batch_size: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Return the shapes of a batch, known before any data is read."""
        return batch_of(blank(self.context_length, self.mels), batch_size)

    def frame(self, processor: LogMel) -> int:
        """Return how many frames a row has.

        Raises:
            UserError: the processor makes other frames than the data are said to have.
        """
        for name in _SETTINGS:
            if getattr(processor, name) != getattr(self, name):
                raise UserError(f'data.{name}: {getattr(self, name)}, but the processor has {getattr(processor, name)}')
        return self.context_length

    def _files(self, paths: Sequence[Path]) -> SoundFiles:
        return SoundFiles(paths, self.rate)

    def _make_processor(self, source: Source, cache: Path) -> LogMel:
        sounds, made = source.splits['train'].examples, self._described
        for number in range(len(sounds)):
            if len(sounds[number]) < made.window:
                raise UserError(
                    f'{sounds.place(number)}: has {len(sounds[number])} samples, fewer than a window of {made.window}'
                )
        return made.of_split(sounds[number] for number in range(len(sounds)))

    def _split(self, found: Labelled, processor: LogMel) -> SoundSplit:
        rows = SoundRows(found.examples, found.labels, processor, self.context_length)
        return SoundSplit(rows=rows, targets=len(rows), names=found.names)
