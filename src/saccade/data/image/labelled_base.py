# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of datasets of labelled images."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import jax
import numpy as np

from saccade.data.dataset_base import DatasetSource
from saccade.data.image.processor import ImageProcessor
from saccade.data.image.rows import ImageFiles, ImageRows, ImageSplit, blank
from saccade.data.labelled_base import Labelled, LabelledFilesBase
from saccade.data.split import batch_of
from saccade.types import Part


@dataclass(frozen=True, kw_only=True)
class LabelledImagesBase(LabelledFilesBase):
    """Base of the datasets of labelled images. Attributes: processor, which makes numbers of pixels."""

    processor: Part[ImageProcessor]

    context_length: ClassVar[int] = 1  # an image is one place of a row
    processes: ClassVar[type[ImageProcessor]] = ImageProcessor
    inputs: ClassVar[Mapping[str, str]] = {'image': 'image'}
    example: ClassVar[Mapping[str, str]] = {'image': 'image.png'}
    _key: ClassVar[str] = 'images'

    def batch_like(self, batch_size: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Return the shapes of a batch, known before any data is read."""
        return batch_of(blank(self.processor().shape), batch_size)

    def frame(self, processor: ImageProcessor) -> tuple[int, int, int]:
        """Return rows, columns and channels of an image.

        Raises:
            UserError: the processor's images have another shape.
        """
        return self.processor().require_shape(processor, 'data.processor')

    def _files(self, paths: Sequence[Path]) -> ImageFiles:
        return ImageFiles(paths)

    def _make_processor(self, source: DatasetSource, cache: Path) -> ImageProcessor:
        return self.processor()

    def _split(self, found: Labelled, processor: ImageProcessor) -> ImageSplit:
        rows = ImageRows(found.examples, np.asarray(found.labels, np.int32), processor)
        return ImageSplit(rows=rows, targets=len(rows), names=found.names)
