# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of questions about images, answered by a span of a text, as rows for an encoder.

    the image, and  [CLS] question [SEP] window of the context [SEP]

The context is the text that accompanies the image. A long one is read in windows, as in `data.encoder.questions`, and
each window has the whole image.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import jax
import numpy as np

from saccade.data.corpus.record_files import FileRecords, read_records
from saccade.data.corpus.records import RecordSource, resolved, strings
from saccade.data.corpus.squad import Inquiry
from saccade.data.dataset_base import BySplit
from saccade.data.encoder.questions import QuestionsBase, QuestionSplit, QuestionWindows
from saccade.data.image.processor import ImageProcessor
from saccade.data.image.rows import ImageFiles, ImageSource
from saccade.data.image.tokenizer import TokenizerAndImages
from saccade.data.rows.frame import Frame
from saccade.data.split import Row, Split, batch_of
from saccade.paths import expanded
from saccade.types import Part


@dataclass(frozen=True, eq=False)
class ImageInquiry(Inquiry):
    """Questions about images, by split. Attributes: images, the image of each question, by split."""

    images: Mapping[str, ImageSource]


@dataclass(frozen=True, eq=False)
class ImageWindowRows(QuestionWindows):
    """Rows of a question, a window of its context and its image.

    Attributes: images, by question index; processor of the images.
    """

    images: ImageSource
    processor: ImageProcessor

    def __getitem__(self, row: int) -> Row:
        number = int(self.example[row])
        return super().__getitem__(row) | {'images': self.processor(self.images[number], self.images.place(number))}

    def padding(self) -> Row:
        """Return a row of padding."""
        return super().padding() | _black(self.processor)


@dataclass(frozen=True, kw_only=True)
class ImageQuestionsBase(QuestionsBase):
    """Base of questions about images, answered by spans of accompanying texts.

    Attributes: images, the image processor.
    """

    images: Part[ImageProcessor]

    @property
    def inputs(self) -> dict[str, str]:
        """Columns of the image's path, of the question and of the context."""
        return {'image': 'image', **super().inputs}

    @property
    def example(self) -> dict[str, str]:
        """Sample of each input, for the example commands that a run prints."""
        return {
            'image': 'image.png',
            'question': 'What colour is the circle on the left?',
            'context': 'violet, sky blue, brick red',
        }

    def batch_like(self, batch_size: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Return the shapes of a batch, which do not depend on data."""
        return super().batch_like(batch_size) | batch_of(_black(self.images()), batch_size)

    def open_processor(self, folder: Path) -> TokenizerAndImages | None:
        """Open the tokenizer of a folder with its image processor, or else the config's.

        Raises:
            UserError: a file is damaged.
        """
        tokenizer = super().open_processor(folder)
        return tokenizer and TokenizerAndImages(tokenizer, ImageProcessor.load(folder) or self.images())

    def frame(self, processor: TokenizerAndImages) -> Frame:
        """Return the row layout of the texts.

        Raises:
            UserError: the tokenizer lacks a special token, or the processor's images have another shape than the
                data's.
        """
        self.images().require_shape(processor.images, 'data.images')
        return super().frame(processor)

    def read(self, path: Path) -> FileRecords:
        """Read a file of records. Paths of images are relative to the file's folder."""
        return resolved(read_records(path, tuple(self.inputs.values())), 'image')

    def unanswered(self, records: RecordSource, names: tuple[str, ...], processor: TokenizerAndImages) -> QuestionSplit:
        """Return questions without answers, each in the rows of its context.

        Raises:
            UserError: a question or a context is not text, a context is empty, or the tokenizer cannot encode a
                character; an image cannot be read, or is of a kind that the processor does not convert.
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
    """Add the image of each question to its rows."""
    return replace(split, rows=ImageWindowRows(**vars(split.rows), images=images, processor=processor.images))


def _black(processor: ImageProcessor) -> Row:
    return {'images': np.zeros(processor.shape, np.float32)}
