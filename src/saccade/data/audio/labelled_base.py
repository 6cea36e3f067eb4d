# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of datasets of labelled sounds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import jax

from saccade.data.audio.log_mel import SETTINGS, LogMel
from saccade.data.audio.rows import SoundFiles, SoundRows, SoundSplit
from saccade.data.dataset_base import DatasetSource
from saccade.data.frames.rows import blank
from saccade.data.labelled_base import Labelled, LabelledFilesBase
from saccade.data.split import batch_of
from saccade.types import Count, Part, UserError


@dataclass(frozen=True, kw_only=True)
class LabelledSoundsBase(LabelledFilesBase):
    """Base of the datasets of labelled sounds.

    Attributes:
        context_length: frames of a row; what is beyond is cut off.
        processor: makes frames of sounds; mean and deviation are of the training split.
    """

    context_length: Count
    processor: Part[LogMel] = Part(LogMel)  # noqa: RUF009, it is frozen

    processes: ClassVar[type[LogMel]] = LogMel
    inputs: ClassVar[Mapping[str, str]] = {'sound': 'sound'}
    example: ClassVar[Mapping[str, str]] = {'sound': 'sound.wav'}
    _key: ClassVar[str] = 'sounds'

    def batch_like(self, batch_size: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Return the shapes of a batch, known before any data is read."""
        return batch_of(blank(self.context_length, self.processor().mels), batch_size)

    def frame(self, processor: LogMel) -> int:
        """Return the number of frames per row.

        Raises:
            UserError: a setting of the processor differs from the data's.
        """
        wanted = self.processor()
        for name in SETTINGS:
            there, made = getattr(wanted, name), getattr(processor, name)
            if there != made:
                raise UserError(f'data.processor.{name}: {there}, but the processor has {made}')
        return self.context_length

    def _files(self, paths: Sequence[Path]) -> SoundFiles:
        return SoundFiles(paths, self.processor().rate)

    def _make_processor(self, source: DatasetSource, cache: Path) -> LogMel:
        sounds, made = source.splits['train'].examples, self.processor()
        for number in range(len(sounds)):
            if len(sounds[number]) < made.window:
                raise UserError(
                    f'{sounds.place(number)}: has {len(sounds[number])} samples, fewer than a window of {made.window}'
                )
        return made.of_split(sounds[number] for number in range(len(sounds)))

    def _split(self, found: Labelled, processor: LogMel) -> SoundSplit:
        rows = SoundRows(found.examples, found.labels, processor, self.context_length)
        return SoundSplit(rows=rows, targets=len(rows), names=found.names)
