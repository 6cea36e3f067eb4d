# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of datasets of labelled images."""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import jax
import numpy as np
from jaxtyping import Int

from saccade.data.cache import digest
from saccade.data.corpus.record_files import FileRecords, read_records
from saccade.data.corpus.records import RecordSource, strings
from saccade.data.dataset_base import BySplit, DatasetBase, Source
from saccade.data.image.described import DescribedImages
from saccade.data.image.processor import ImageProcessor
from saccade.data.image.rows import ImageFiles, ImageRows, ImageSource, ImageSplit, blank
from saccade.data.split import Split, batch_of
from saccade.paths import expanded
from saccade.types import IGNORED, Model, Part


@dataclass(frozen=True, eq=False)
class LabelledImages:
    """Labelled images of a split. Attributes: images; labels, the class of each; names of the classes."""

    images: ImageSource
    labels: Int[np.ndarray, 'images']
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, kw_only=True)
class LabelledImagesBase(DescribedImages, DatasetBase):
    """Base of datasets of labelled images."""

    context_length: ClassVar[int] = 1  # an image is one position of a row
    inputs: ClassVar[Mapping[str, str]] = {'image': 'image'}
    example: ClassVar[Mapping[str, str]] = {'image': 'image.png'}

    def batch_like(self, batch_size: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Return the shapes of a batch, which do not depend on data."""
        return batch_of(blank(self.described.shape), batch_size)

    def open_processor(self, folder: Path) -> ImageProcessor | None:
        """Open the image processor in a run's folder or a Hugging Face directory; None if there is none.

        Raises:
            UserError: its file is damaged.
        """
        return ImageProcessor.load(folder)

    def require_model(self, model: Part[Model], processor: ImageProcessor | None) -> None:
        """Check that a processor's images have the declared shape."""
        if processor is not None:
            self.frame(processor)

    def frame(self, processor: ImageProcessor) -> tuple[int, int, int]:
        """Return rows, columns and channels of an image.

        Raises:
            UserError: the processor's images have another shape.
        """
        return self.require_shape(processor)

    def read(self, path: Path) -> FileRecords:
        """Read a file of records, each with the path of an image."""
        return read_records(path, tuple(self.inputs.values()))

    def unanswered(self, records: RecordSource, names: tuple[str, ...], processor: ImageProcessor) -> ImageSplit:
        """Return the rows of unlabelled images in files; `names` are the names of the classes.

        Raises:
            UserError: an image cannot be read, or is of a kind that the processor does not convert.
        """
        (column,) = self.inputs.values()
        images = ImageFiles([expanded(path) for path in strings(records, column)])
        labels = np.full(len(images), IGNORED, np.int32)
        return ImageSplit(rows=ImageRows(images, labels, processor), targets=len(labels), names=names)

    @abstractmethod
    def _labelled(self, cache: Path) -> tuple[Mapping[str, LabelledImages], str]:
        """Return the images of each split, and a digest of them."""

    @property
    def _key(self) -> Any:
        return 'images'

    def _open(self, cache: Path) -> Source:
        splits, changes = self._labelled(cache)
        return Source(splits, digest(type(self).__name__, changes))

    def _make_processor(self, source: Source, cache: Path) -> ImageProcessor:
        return self.described

    def _arrays(self, source: Source, processor: ImageProcessor) -> BySplit:
        return {name: {'labels': np.asarray(found.labels, np.int32)} for name, found in source.splits.items()}

    def _splits(self, arrays: BySplit, source: Source, frame: Any, processor: ImageProcessor) -> dict[str, Split]:
        return {
            name: ImageSplit(
                rows=ImageRows(found.images, arrays[name]['labels'], processor), targets=len(found), names=found.names
            )
            for name, found in source.splits.items()
        }
