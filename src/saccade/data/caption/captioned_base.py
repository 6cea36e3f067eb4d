# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of datasets of images with captions."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, SupportsInt

import jax
import numpy as np
from jaxtyping import Int

from saccade.data.cache import digest, trained
from saccade.data.caption.frame import CaptionFrame
from saccade.data.corpus.record_files import FileRecords, read_records
from saccade.data.corpus.records import RecordSource, resolved, strings
from saccade.data.dataset_base import BySplit, DatasetBase, DatasetSource
from saccade.data.image.processor import ImageProcessor
from saccade.data.image.rows import ImageFiles, ImageSource
from saccade.data.image.tokenizer import TokenizerAndImages, open_tokenizer_and_images
from saccade.data.rows.ragged import Ragged, encoded
from saccade.data.split import Row, Split, batch_of
from saccade.data.tokenizer.room import most_tokens, require_room
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.data.tokenizer.trainer import Trainer
from saccade.paths import expanded
from saccade.types import Count, Model, Part, UserError


@dataclass(frozen=True, eq=False)
class CaptionedImages:
    """Images with captions of a split.

    Attributes:
        images, captions: image and caption of each row.
        names: names of the classes for zero-shot classification; labels, class of each image, IGNORED for none.
    """

    images: ImageSource
    captions: Sequence[str]
    names: tuple[str, ...]
    labels: Int[np.ndarray, 'images']

    @classmethod
    def of(cls, images: ImageSource, captions: Sequence[str]) -> 'CaptionedImages':
        """Return a split whose classes are its distinct captions."""
        names, labels = np.unique(np.array(captions, object), return_inverse=True)
        return cls(images, captions, tuple(names), labels.astype(np.int32))

    def __len__(self) -> int:
        return len(self.captions)


@dataclass(frozen=True, eq=False)
class CaptionRows:
    """Rows of images with captions. Attributes: images; tokens of the captions; processor of images; frame."""

    images: ImageSource
    tokens: Ragged
    processor: ImageProcessor
    frame: CaptionFrame

    def __len__(self) -> int:
        return len(self.tokens)

    def __getitem__(self, row: int) -> Row:
        pixels = self.processor(self.images[row], self.images.place(row))
        return self.frame.row(self.tokens[row]) | {'images': pixels, 'example': np.int32(row)}

    def padding(self) -> Row:
        """Return a row of padding."""
        return blank(self.frame, self.processor)

    def items(self, rows: Sequence[int]) -> tuple[list[str], list[bytes]]:
        """Return what identifies the image and the caption of rows: the place of the image, and the tokens read."""
        captions = [self.frame.row(self.tokens[row])['tokens'].tobytes() for row in rows]
        return [self.images.place(row) for row in rows], captions


@dataclass(frozen=True, eq=False, kw_only=True)
class CaptionSplit(Split):
    """Split of images with captions.

    Attributes: names and labels, as in `CaptionedImages`; references, the captions; tokenizer, which decodes tokens.
    """

    rows: CaptionRows
    names: tuple[str, ...]
    labels: Int[np.ndarray, 'images']
    references: Sequence[str]
    tokenizer: Tokenizer
    unit: str = 'images'

    def text(self, ids: Iterable[SupportsInt]) -> str:
        """Return the text of generated tokens."""
        return self.tokenizer.decode(ids)


@dataclass(frozen=True, kw_only=True)
class CaptionedBase(DatasetBase):
    """Base of the datasets of images with captions.

    Attributes:
        images: the processor that makes numbers of pixels.
        tokenizer: how to train the tokenizer, on the captions.
        context_length: tokens of a caption, the special ones among them; what is beyond is cut off.
    """

    images: Part[ImageProcessor]
    tokenizer: Part[Trainer]
    context_length: Count
    example: ClassVar[Mapping[str, str]] = {'image': 'image.png'}

    @property
    def inputs(self) -> Mapping[str, str]:
        """The input of a record, with its column."""
        return {'image': 'image'}

    def __post_init__(self) -> None:
        self.images()  # refused before any data is read

    def batch_like(self, batch_size: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Return the shapes of a batch, known before any data is read."""
        return batch_of(blank(CaptionFrame(self.context_length), self.images()), batch_size)

    def open_processor(self, folder: Path) -> TokenizerAndImages | None:
        """Open the processor in a run's folder or a Hugging Face directory; None if there is none.

        Raises:
            UserError: a file of it is damaged.
        """
        return open_tokenizer_and_images(folder)

    def require_model(self, model: Part[Model], processor: TokenizerAndImages | None) -> None:
        """Check that a model has an embedding for each token that the tokenizer has, or may learn.

        Raises:
            UserError: the model has too few embeddings.
        """
        require_room(model, *(most_tokens(self) if processor is None else processor.sizes))

    def frame(self, processor: TokenizerAndImages) -> CaptionFrame:
        """Return the frame of a caption.

        Raises:
            UserError: the tokenizer lacks a special token, or the processor's images have another shape than the
                data's.
        """
        self.images().require_shape(processor.images, 'data.images')
        return CaptionFrame.of(processor, self.context_length)

    def read(self, path: Path) -> FileRecords:
        """Read a file of records, each with the path of an image, relative to the folder of the file."""
        (column,) = self.inputs.values()
        return resolved(read_records(path, (column,)), column)

    def unanswered(
        self, records: RecordSource, names: tuple[str, ...], processor: TokenizerAndImages
    ) -> 'CaptionSplit':
        """Return the rows of images without captions; `names` has no effect.

        Raises:
            UserError: the processor's images have another shape than the data's.
        """
        (column,) = self.inputs.values()
        images = ImageFiles([expanded(path) for path in strings(records, column)])
        found = CaptionedImages.of(images, [''] * len(images))
        return self._rows(found, Ragged.of(*encoded(found.captions, processor)), self.frame(processor), processor)

    @abstractmethod
    def _captioned(self, cache: Path) -> tuple[Mapping[str, CaptionedImages], str]:
        """Return the images and captions of each split, and a digest of them."""

    @property
    def _key(self) -> Any:
        return 'captions'

    def _open(self, cache: Path) -> DatasetSource:
        splits, changes = self._captioned(cache)
        return DatasetSource(splits, digest(type(self).__name__, changes))

    def _make_processor(self, source: DatasetSource, cache: Path) -> TokenizerAndImages:
        captions: Iterable[str] = source.splits['train'].captions
        return TokenizerAndImages(trained(self.tokenizer, lambda: captions, source.digest, cache), self.images())

    def _arrays(self, source: DatasetSource, processor: TokenizerAndImages) -> BySplit:
        return {
            name: dict(zip(('tokens', 'lengths'), encoded(found.captions, processor), strict=True))
            for name, found in source.splits.items()
        }

    def _splits(
        self, arrays: BySplit, source: DatasetSource, frame: CaptionFrame, processor: TokenizerAndImages
    ) -> dict[str, Split]:
        splits = {}
        for name, found in source.splits.items():
            tokens = Ragged.of(arrays[name]['tokens'], arrays[name]['lengths'])
            if not len(tokens):
                raise UserError(f'data: the split {name} has no images')
            splits[name] = self._rows(found, tokens, frame, processor)
        return splits

    def _rows(
        self, found: CaptionedImages, tokens: Ragged, frame: CaptionFrame, processor: TokenizerAndImages
    ) -> CaptionSplit:
        return CaptionSplit(
            rows=CaptionRows(found.images, tokens, processor.images, frame),
            targets=len(tokens),
            names=found.names,
            labels=found.labels,
            references=found.captions,
            tokenizer=processor,
        )


def blank(frame: CaptionFrame, processor: ImageProcessor) -> Row:
    """Return a row of padding."""
    return frame.padding() | {'images': np.zeros(processor.shape, np.float32), 'example': np.int32(-1)}
