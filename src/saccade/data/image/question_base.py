# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of questions about images that are answered by a span of a text, as rows for an encoder.

    the image, and beside it  [CLS] question [SEP] window of the context [SEP]

The context is the text that accompanies the image. A long one is read in windows, as in `data.encoder.questions`, and
each window has the whole image.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import jax
import numpy as np

from saccade.data.corpus.record_files import FileRecords, read_records
from saccade.data.corpus.records import RecordSource, strings
from saccade.data.corpus.squad import Inquiry
from saccade.data.dataset_base import BySplit
from saccade.data.encoder.questions import QuestionsBase, QuestionSplit, WindowRows
from saccade.data.image.processor import ImageProcessor
from saccade.data.image.rows import ImageFiles, ImageSource
from saccade.data.image.tokenizer import TokenizerAndImages
from saccade.data.rows.frame import Frame
from saccade.data.split import Row, Split, batch_of
from saccade.paths import expanded
from saccade.types import Part


@dataclass(frozen=True, eq=False)
class ImageInquiry(Inquiry):
    """Questions about images, by split. Attributes: images, that of each question of a split."""

    images: Mapping[str, ImageSource]


@dataclass(frozen=True, eq=False)
class ImageWindowRows(WindowRows):
    """Rows of a question, a window on its context and its image.

    Attributes: images, by the number of the question; processor of them.
    """

    images: ImageSource
    processor: ImageProcessor

    def __getitem__(self, row: int) -> Row:
        number = int(self.example[row])
        return super().__getitem__(row) | {'images': self.processor(self.images[number], self.images.place(number))}

    def padding(self) -> Row:
        """A row of no question."""
        return super().padding() | _black(self.processor)


@dataclass(frozen=True, kw_only=True)
class ImageQuestionsBase(QuestionsBase):
    """Base of questions about images, answered by spans of the texts that accompany them.

    Attributes: images, the processor that makes numbers of pixels.
    """

    images: Part[ImageProcessor]

    @property
    def inputs(self) -> dict[str, str]:
        """The columns of the image's path, of the question and of the context."""
        return {'image': 'image', **super().inputs}

    @property
    def example(self) -> dict[str, str]:
        """A sample of each input, as the commands that a run prints need one."""
        return {
            'image': 'image.png',
            'question': 'What colour is the circle on the left?',
            'context': 'violet, sky blue, brick red',
        }

    def batch_like(self, batch_size: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Return the shapes of a batch, known before any data is read."""
        return super().batch_like(batch_size) | batch_of(_black(self.images()), batch_size)

    def open_processor(self, folder: Path) -> TokenizerAndImages | None:
        """Open the tokenizer of a folder and its image processor, which is the config's where there is none.

        Raises:
            UserError: a file is damaged.
        """
        tokenizer = super().open_processor(folder)
        return tokenizer and TokenizerAndImages(tokenizer, ImageProcessor.load(folder) or self.images())

    def frame(self, processor: TokenizerAndImages) -> Frame:
        """Return how the texts stand in a row.

        Raises:
            UserError: the tokenizer lacks a special token, or the images are of another size than the data's.
        """
        self.images().require_shape(processor.images, 'data.images')
        return super().frame(processor)

    def read(self, path: Path) -> FileRecords:
        """Read a file of records. The path of an image counts from the file's folder."""
        return resolved(read_records(path, tuple(self.inputs.values())))

    def unanswered(self, records: RecordSource, names: tuple[str, ...], processor: TokenizerAndImages) -> QuestionSplit:
        """Return questions without a known answer, each in the rows that its context takes.

        Raises:
            UserError: a question or a context is no text, a context is empty, or the tokenizer lacks a character; an
                image cannot be read, or is of a kind that the processor refuses.
        """
        images = ImageFiles([expanded(path) for path in strings(records, 'image')])
        return _seen(super().unanswered(records, names, processor), images, processor)

    def _make_processor(self, source: ImageInquiry, cache: Path) -> TokenizerAndImages:
        return TokenizerAndImages(super()._make_processor(source, cache), self.images())

    def _splits(
        self, arrays: BySplit, source: ImageInquiry, frame: Frame, processor: TokenizerAndImages
    ) -> dict[str, Split]:
        splits = super()._splits(arrays, source, frame, processor)
        return {name: _seen(split, source.images[name], processor) for name, split in splits.items()}


def _seen(split: QuestionSplit, images: ImageSource, processor: TokenizerAndImages) -> QuestionSplit:
    """Put the image of each question beside its rows."""
    return replace(split, rows=ImageWindowRows(**vars(split.rows), images=images, processor=processor.images))


def _black(processor: ImageProcessor) -> Row:
    return {'images': np.zeros(processor.shape, np.float32)}


def resolved(records: FileRecords) -> FileRecords:
    """Records whose images are found from any folder.

    Raises:
        UserError: the path of an image is no text.
    """
    folder = records.path.parent
    paths = [str(folder / expanded(path)) for path in strings(records, 'image')]
    return replace(records, records=[{**record, 'image': path} for record, path in zip(records, paths, strict=True)])
