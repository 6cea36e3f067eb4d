# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of datasets of generated sequences or sets of frames, with a class or a value each."""

from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import jax
import numpy as np
from jaxtyping import Float, Int, Num

from saccade.data.cache import digest
from saccade.data.dataset_base import Arrays, BySplit, DatasetSource
from saccade.data.frames.rows import UNLABELLED, FrameRows, FrameSplit, blank
from saccade.data.frames.standardizer import Standardizer
from saccade.data.labelled_base import LabelledBase
from saccade.data.split import Row, Split, batch_of
from saccade.data.uniform import Uniform, uniform
from saccade.types import Count, UserError


@dataclass(frozen=True)
class LabelledFrames:
    """Sequences or sets of a split, before processing.

    Attributes: frames of all sequences, concatenated; lengths, number of frames of each; labels, classes or values.
    """

    frames: Float[np.ndarray, 'frames F']
    lengths: Int[np.ndarray, 'sequences']
    labels: Num[np.ndarray, 'sequences']

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, kw_only=True)
class LabelledFramesBase(LabelledBase):
    """Base of the datasets of labelled sequences or sets of frames.

    Attributes:
        context_length: number of frames per row.
        train, validation: number of sequences per split.
        names: names of the classes, none of values.
        unlabelled: the answer of a row of padding: `frames.rows:UNLABELLED`, or `UNVALUED`.
    """

    context_length: Count
    train: Count = 2000
    validation: Count = 500

    processes: ClassVar[type[Standardizer]] = Standardizer
    names: ClassVar[tuple[str, ...]]
    unlabelled: ClassVar[Row] = UNLABELLED

    @property
    @abstractmethod
    def _width(self) -> int:
        """Width of a frame (F)."""

    @property
    @abstractmethod
    def _key(self) -> tuple[Any, ...]:
        """Settings that affect the generated data, other than their number."""

    @abstractmethod
    def _drawn(self, uniform: Uniform, count: int) -> LabelledFrames:
        """Generate `count` sequences."""

    def batch_like(self, batch_size: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Return the shapes of a batch, which do not depend on data."""
        return batch_of(blank(self.context_length, self._width, self.unlabelled), batch_size)

    def frame(self, processor: Standardizer) -> int:
        """Return the number of frames per row.

        Raises:
            UserError: the standardizer has another width.
        """
        made = len(processor.mean)
        if made != self._width:
            raise UserError(f'data: the processor is for frames of {made} numbers, but the data have {self._width}')
        return self.context_length

    def _make_processor(self, source: DatasetSource, cache: Path) -> Standardizer:
        return Standardizer.of(source.splits['train'].frames)

    def _open(self, cache: Path) -> DatasetSource:
        counts = {'train': self.train, 'validation': self.validation}
        drawn = {name: self._drawn(uniform(number), counts[name]) for number, name in enumerate(counts)}
        return DatasetSource(drawn, digest(*self._key, self.train, self.validation))

    def _arrays(self, source: DatasetSource, processor: Standardizer) -> BySplit:
        return {
            name: {'frames': processor(drawn.frames), 'lengths': drawn.lengths, 'labels': drawn.labels}
            for name, drawn in source.splits.items()
        }

    def _splits(self, arrays: BySplit, source: DatasetSource, frame: int, processor: Standardizer) -> dict[str, Split]:
        return {name: self._split(found, frame) for name, found in arrays.items()}

    def _split(self, arrays: Arrays, context_length: int) -> FrameSplit:
        starts = np.concatenate([[0], np.cumsum(arrays['lengths'])])
        rows = FrameRows(arrays['frames'], starts, arrays['labels'], context_length, self.unlabelled)
        return FrameSplit(rows=rows, targets=len(rows), names=self.names)
