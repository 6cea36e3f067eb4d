# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of labelled images, one image per row, decoded and processed on demand."""

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

# Pillow detects the format from the content, and for some formats starts a program: Ghostscript for PostScript. An MPO,
# a format of cameras, opens as a JPEG.
FORMATS = ('PNG', 'JPEG', 'GIF', 'BMP', 'WEBP', 'TIFF')
warnings.filterwarnings('error', category=Image.DecompressionBombWarning)  # a filter in one thread would affect others


@runtime_checkable
class ImageSource(Protocol):
    """Protocol of images with random access by index."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> Image.Image: ...

    def place(self, index: int) -> str:
        """Return the place of an image, for messages."""
        ...


@dataclass(frozen=True, eq=False)
class ImageFiles:
    """Images in files, rotated upright by their EXIF orientation. Attributes: paths."""

    paths: Sequence[Path]

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Image.Image:
        path = self.paths[index]
        try:
            with Image.open(path, formats=FORMATS) as image:
                # The second image of an MPO, in cameras' JPEG files, is a preview or a gain map.
                if getattr(image, 'is_animated', False) and image.format != 'MPO':
                    raise UserError(
                        f'{path}: has {image.n_frames} images or pages; save one of them as a separate file'
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
        """Return the path of an image."""
        return str(self.paths[index])


@dataclass(frozen=True, eq=False)
class ImageRecords:
    """Images stored as arrays in a column of records, as in TFDS. Attributes: records; column."""

    records: RecordSource
    column: str

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, index: int) -> Image.Image:
        pixels = self.records[index][self.column]
        if pixels.dtype != np.uint8:
            raise UserError(f'{self.place(index)}: has pixels of {pixels.dtype}, but uint8 is expected')
        return of_array(pixels)

    def place(self, index: int) -> str:
        """Return the place of a record, for messages."""
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
        """Return the place of an image, for messages."""
        return f'{self.name}[{index}]'


def of_array(pixels: UInt8[np.ndarray, 'rows columns channels']) -> Image.Image:
    """Return an image from pixels; one channel gives a grey image."""
    return Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels)


@dataclass(frozen=True, eq=False)
class ImageRows:
    """Rows of labelled images.

    Attributes: images; labels, class of each; processor.
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
        """Return a row of padding."""
        return blank(self.processor.shape)


@dataclass(frozen=True, eq=False, kw_only=True)
class ImageSplit(Split):
    """Split of labelled images. Attributes: names of the classes."""

    rows: ImageRows
    names: tuple[str, ...]
    unit: str = 'images'

    @property
    def answers(self) -> np.ndarray:
        """Class of each image."""
        return self.rows.labels


def row_of(pixels: np.ndarray) -> Row:
    """Return the arrays of one image, which is one position of one segment."""
    return {'images': pixels, 'segments': np.ones(1, np.int32), 'positions': np.zeros(1, np.int32)}


def blank(shape: tuple[int, int, int]) -> Row:
    """Return a row of padding."""
    row = row_of(np.zeros(shape, np.float32))
    return row | {'segments': np.zeros(1, np.int32), 'example': np.int32(-1), 'label': np.int32(IGNORED)}
