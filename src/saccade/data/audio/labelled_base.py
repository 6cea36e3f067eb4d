# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of datasets of labelled sounds."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import jax
import numpy as np
from jaxtyping import Int

from saccade.data.audio.log_mel import LogMel
from saccade.data.audio.rows import SoundFiles, SoundRows, SoundSource, SoundSplit
from saccade.data.cache import digest
from saccade.data.corpus.record_files import FileRecords, read_records
from saccade.data.corpus.records import RecordSource, strings
from saccade.data.dataset_base import BySplit, DatasetBase, Source
from saccade.data.frames.rows import blank
from saccade.data.split import Split, batch_of
from saccade.paths import expanded
from saccade.types import IGNORED, Count, Model, NotNegative, Part, UserError

_SETTINGS = ('rate', 'window', 'hop', 'mels', 'low', 'high')


@dataclass(frozen=True, eq=False)
class LabelledSounds:
    """Labelled sounds of a split. Attributes: sounds; labels, the class of each; names of the classes."""

    sounds: SoundSource
    labels: Int[np.ndarray, 'sounds']
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, kw_only=True)
class LabelledSoundsBase(DatasetBase):
    """Base of datasets of labelled sounds.

    Attributes:
        context_length: number of frames per row; longer sounds are truncated.
        rate: samples per second.
        window: samples per frame.
        hop: samples from one frame to the next.
        mels: number of bands per frame (F).
        low, high: frequencies in Hz at which the first band begins and the last one ends; high None: half the rate.
    """

    context_length: Count
    rate: Count = 16_000
    window: Count = 400
    hop: Count = 160
    mels: Count = 40
    low: NotNegative = 0.0
    high: float | None = None

    inputs: ClassVar[Mapping[str, str]] = {'sound': 'sound'}
    example: ClassVar[Mapping[str, str]] = {'sound': 'sound.wav'}

    def __post_init__(self) -> None:
        _ = self._described

    @property
    def _described(self) -> LogMel:
        """Processor with the settings of the fields, without mean and deviation."""
        return LogMel(**{name: getattr(self, name) for name in _SETTINGS})

    def batch_like(self, batch_size: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Return the shapes of a batch, which do not depend on data."""
        return batch_of(blank(self.context_length, self.mels), batch_size)

    def open_processor(self, folder: Path) -> LogMel | None:
        """Open the processor in a run's folder; None if there is none.

        Raises:
            UserError: its file is damaged.
        """
        return LogMel.load(folder)

    def require_model(self, model: Part[Model], processor: LogMel | None) -> None:
        """Check that a model's processor has the declared settings."""
        if processor is not None:
            self.frame(processor)

    def frame(self, processor: LogMel) -> int:
        """Return the number of frames per row.

        Raises:
            UserError: a setting of the processor differs from the data's.
        """
        for name in _SETTINGS:
            if getattr(processor, name) != getattr(self, name):
                raise UserError(f'data.{name}: {getattr(self, name)}, but the processor has {getattr(processor, name)}')
        return self.context_length

    def read(self, path: Path) -> FileRecords:
        """Read a file of records, each with the path of a sound."""
        return read_records(path, tuple(self.inputs.values()))

    def unanswered(self, records: RecordSource, names: tuple[str, ...], processor: LogMel) -> SoundSplit:
        """Return the rows of unlabelled sounds in files; `names` are the names of the classes.

        Raises:
            UserError: a sound cannot be read, or has another rate.
        """
        (column,) = self.inputs.values()
        sounds = SoundFiles([expanded(path) for path in strings(records, column)], self.rate)
        return self._split(LabelledSounds(sounds, np.full(len(sounds), IGNORED, np.int32), names), processor)

    @abstractmethod
    def _labelled(self, cache: Path) -> tuple[Mapping[str, LabelledSounds], str]:
        """Return the sounds of each split, and a digest of them."""

    @property
    def _key(self) -> Any:
        return 'sounds'

    def _open(self, cache: Path) -> Source:
        splits, changes = self._labelled(cache)
        return Source(splits, digest(type(self).__name__, changes))

    def _make_processor(self, source: Source, cache: Path) -> LogMel:
        sounds, made = source.splits['train'].sounds, self._described
        for number in range(len(sounds)):
            if len(sounds[number]) < made.window:
                raise UserError(
                    f'{sounds.place(number)}: has {len(sounds[number])} samples, fewer than a window of {made.window}'
                )
        return made.of_split(sounds[number] for number in range(len(sounds)))

    def _arrays(self, source: Source, processor: LogMel) -> BySplit:
        return {name: {'labels': found.labels} for name, found in source.splits.items()}

    def _splits(self, arrays: BySplit, source: Source, frame: int, processor: LogMel) -> dict[str, Split]:
        return {name: self._split(found, processor) for name, found in source.splits.items()}

    def _split(self, found: LabelledSounds, processor: LogMel) -> SoundSplit:
        rows = SoundRows(found.sounds, found.labels, processor, self.context_length)
        return SoundSplit(rows=rows, targets=len(rows), names=found.names)
