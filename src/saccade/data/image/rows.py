# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of labelled images, one image a row, decoded and processed when it is asked for."""

import struct
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int, UInt8
from PIL import Image, ImageOps, UnidentifiedImageError

from saccade.data.corpus.records import RecordSource
from saccade.data.image.processor import ImageProcessor
from saccade.data.split import Row, Split
from saccade.types import IGNORED, UserError

# Pillow goes by the content, and for some formats starts a program: Ghostscript for PostScript. An MPO, as cameras
# write it, opens as a JPEG.
FORMATS = ('PNG', 'JPEG', 'GIF', 'BMP', 'WEBP', 'TIFF')
warnings.filterwarnings('error', category=Image.DecompressionBombWarning)  # in one thread only, it would reach others


@runtime_checkable
class ImageSource(Protocol):
    """Protocol of images with random access by number."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> Image.Image: ...

    def place(self, index: int) -> str:
        """Where an image stands, as a message is to name it."""
        ...


@dataclass(frozen=True, eq=False)
class ImageFiles:
    """Images in files, upright as their EXIF orientation says. Attributes: paths of them."""

    paths: Sequence[Path]

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Image.Image:
        path = self.paths[index]
        try:
            with Image.open(path, formats=FORMATS) as image:
                # The second image of an MPO, as cameras write JPEGs, is a preview or a map of brightness.
                if getattr(image, 'is_animated', False) and image.format != 'MPO':
                    raise UserError(
                        f'{path}: has {image.n_frames} images or pages; save the one that is meant by itself'
                    )
                return ImageOps.exif_transpose(image)
        except FileNotFoundError:
            raise UserError(f'{path}: there is no such file') from None
        except UnidentifiedImageError:
            raise UserError(f'{path}: is not an image in one of the formats {", ".join(FORMATS)}') from None
        except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
            raise UserError(f'{path}: has too many pixels: {error}') from error
        except (OSError, SyntaxError, ValueError, struct.error) as error:
            raise UserError(f'{path}: cannot be read as an image, and may be cut short: {error}') from error

    def place(self, index: int) -> str:
        """The path of an image."""
        return str(self.paths[index])


@dataclass(frozen=True, eq=False)
class ImageRecords:
    """Images that are arrays in a column of records, as TFDS has them. Attributes: records; column."""

    records: RecordSource
    column: str

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, index: int) -> Image.Image:
        pixels = self.records[index][self.column]
        if pixels.dtype != np.uint8:
            raise UserError(f'{self.place(index)}: has pixels of {pixels.dtype}, where uint8 is expected')
        return of_array(pixels)

    def place(self, index: int) -> str:
        """Where a record stands."""
        return self.records.place(index)


@dataclass(frozen=True, eq=False)
class ImageArrays:
    """Images in memory. Attributes: pixels; name of the dataset."""

    pixels: UInt8[np.ndarray, 'images rows columns channels']
    name: str

    def __len__(self) -> int:
        return len(self.pixels)

    def __getitem__(self, index: int) -> Image.Image:
        return of_array(self.pixels[index])

    def place(self, index: int) -> str:
        """The number of an image."""
        return f'{self.name}[{index}]'


def of_array(pixels: UInt8[np.ndarray, 'rows columns channels']) -> Image.Image:
    """Return an image of pixels; of one channel it is grey."""
    return Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels)


@dataclass(frozen=True, eq=False)
class ImageRows:
    """Rows of labelled images.

    Attributes: images; labels, the class of each; processor of them.
    """

    images: ImageSource
    labels: Int[np.ndarray, 'images']
    processor: ImageProcessor

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, row: int) -> Row:
        pixels = self.processor(self.images[row], self.images.place(row))
        return row_of(pixels) | {'example': np.int32(row), 'label': np.int32(self.labels[row])}

    def padding(self) -> Row:
        """A row of which nothing counts."""
        return blank(self.processor.shape)


@dataclass(frozen=True, eq=False, kw_only=True)
class ImageSplit(Split):
    """Split of labelled images. Attributes: names of the classes."""

    rows: ImageRows
    names: tuple[str, ...]
    unit: str = 'images'

    @property
    def answers(self) -> np.ndarray:
        """The class of each image."""
        return self.rows.labels


def row_of(pixels: np.ndarray) -> Row:
    """Return the arrays of one image, which is one place of one segment."""
    return {'images': pixels, 'segments': np.ones(1, np.int32), 'positions': np.zeros(1, np.int32)}


def blank(shape: tuple[int, int, int]) -> Row:
    """Return the row of padding."""
    row = row_of(np.zeros(shape, np.float32))
    return row | {'segments': np.zeros(1, np.int32), 'example': np.int32(-1), 'label': np.int32(IGNORED)}
