# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Image processor: resize, crop the centre, scale pixels to [0, 1], subtract a mean and divide by a deviation.

    x = (pixels / 255 - mean) / deviation,      by channel

The order of steps and the meaning of a shortest edge are as in Hugging Face's image processors based on Pillow.
"""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from PIL import Image

from saccade.data.image.hugging_face import of_preprocessor, of_processor
from saccade.data.processor_base import FILE, ProcessorBase
from saccade.types import Count, UserError, require_positive

__all__ = ['ImageProcessor']

RESAMPLING = {name.lower(): int(value) for name, value in Image.Resampling.__members__.items()}
_MODES = {1: 'L', 3: 'RGB'}  # by number of channels


@dataclass(frozen=True)
class ImageProcessor(ProcessorBase):
    """Image processor.

    Attributes:
        size: rows and columns of the output, in pixels.
        channels: 1 for grey images, 3 for colour.
        resize: rows and columns to scale to; one number: the shortest edge, with a constant aspect ratio; None: no
            scaling.
        resampling: interpolation, by Pillow's name.
        mean, deviation: of each channel of pixels in [0, 1].
        convert: convert images of another kind: grey to colour and the reverse, 16 bits to 8, transparent ones onto
            white. Otherwise they raise an error.
    """

    size: tuple[Count, Count]
    channels: Count = 3
    resize: tuple[Count, Count] | Count | None = None
    resampling: str = 'bilinear'
    mean: tuple[float, ...] = (0.5,)
    deviation: tuple[float, ...] = (0.5,)
    convert: bool = False

    of_what: ClassVar[str] = 'images'

    def __post_init__(self) -> None:
        edges = () if self.resize is None else (self.resize,) if isinstance(self.resize, int) else self.resize
        require_positive('image processor', **{f'size {number}': edge for number, edge in enumerate(self.size + edges)})
        if self.channels not in _MODES:
            raise UserError(f'image processor: channels must be 1 or 3, not {self.channels}')
        if self.resampling not in RESAMPLING:
            raise UserError(f"image processor: unknown resampling '{self.resampling}'; known: {', '.join(RESAMPLING)}")
        if {len(self.mean), len(self.deviation)} - {1, self.channels} or min(self.deviation) <= 0:
            raise UserError(
                f'image processor: mean {list(self.mean)} and deviation {list(self.deviation)} need one number, or one '
                f'for each of {self.channels} channels; deviations must be above 0'
            )

    @classmethod
    def load(cls, folder: Path) -> 'ImageProcessor | None':
        """Read the processor of a run's folder or of a Hugging Face directory; None if there is none.

        Raises:
            UserError: its file is damaged, or has an unsupported setting.
        """
        theirs = {name: functools.partial(read, folder=folder) for name, read in HUGGING_FACE.items()}
        readers = {FILE: cls._fields} | theirs
        found = (cls._of_file(Path(folder) / name, read) for name, read in readers.items())
        return next((processor for processor in found if processor is not None), None)

    @classmethod
    def _fields(cls, found: dict[str, Any]) -> dict[str, Any]:
        return {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows, columns and channels of the output."""
        return *self.size, self.channels

    def require_shape(self, made: 'ImageProcessor', where: str) -> tuple[int, int, int]:
        """Return rows, columns and channels of an image.

        Args:
            where: the config field of this processor.

        Raises:
            UserError: the other processor makes others.
        """
        if made.shape != self.shape:
            raise UserError(
                f'{where}: rows, columns and channels are {list(self.shape)}, but the processor makes images of '
                f'{list(made.shape)}'
            )
        return self.shape

    def __call__(self, image: Image.Image, place: str) -> Float[np.ndarray, 'rows columns channels']:
        """Return the normalised pixels of an image, in float32.

        Args:
            place: place of the image, for messages.

        Raises:
            UserError: the image is of another kind and `convert` is off, or of another size and `resize` is None.
        """
        image = self._resized(self._of_mode(image, place))
        if self.resize is None and image.size != self.size[::-1]:
            raise UserError(
                f'{place}: has {image.height} rows and {image.width} columns of pixels, where {self.size[0]} and '
                f'{self.size[1]} are expected; set resize of the image processor to scale images'
            )
        pixels = _centre(np.asarray(image).reshape(image.height, image.width, self.channels), self.size)
        mean, deviation = (np.array(values, np.float32) for values in (self.mean, self.deviation))
        return (pixels.astype(np.float32) / 255 - mean) / deviation

    def _of_mode(self, image: Image.Image, place: str) -> Image.Image:
        mode = _MODES[self.channels]
        if image.mode == mode and not image.has_transparency_data:
            return image
        if image.mode == 'F':
            raise UserError(f'{place}: has floating-point pixels, whose range is unknown; save it with 8 or 16 bits')
        if image.mode in ('P', '1') and not image.has_transparency_data and mode == 'RGB':
            return image.convert(mode)  # lossless
        if not self.convert:
            clear = ' with transparency' if image.mode == mode else ''
            raise UserError(
                f"{place}: is of Pillow's mode {image.mode}{clear}, where {mode} is expected; set convert=True of the "
                'image processor to have grey, transparent and 16-bit images converted'
            )
        if image.mode.startswith('I'):
            image = _of_8_bits(image, place)
        try:
            if image.has_transparency_data:
                image = image.convert('RGBA')
                image = Image.alpha_composite(Image.new('RGBA', image.size, 'white'), image)
            return image.convert(mode)
        except ValueError as error:
            raise UserError(f'{place}: cannot be converted: {error}; save it as RGB or grey') from error

    def _resized(self, image: Image.Image) -> Image.Image:
        if self.resize is None:
            return image
        rows, columns = self.resize if isinstance(self.resize, tuple) else _shortest(image, self.resize)
        return image.resize((columns, rows), RESAMPLING[self.resampling])


def _of_8_bits(image: Image.Image, place: str) -> Image.Image:
    """Convert an image of 16 bits to 8 bits.

    Raises:
        UserError: its pixels have more than 16 bits.
    """
    pixels = np.asarray(image, np.int64)
    if pixels.min() < 0 or pixels.max() >= 1 << 16:
        raise UserError(f'{place}: has pixels from {pixels.min()} to {pixels.max()}; 16-bit pixels are 0 to 65535')
    return Image.fromarray((pixels // 257).astype(np.uint8))


def _shortest(image: Image.Image, edge: int) -> tuple[int, int]:
    """Return rows and columns of an image after scaling its shortest edge to `edge`."""
    rows, columns = image.height, image.width
    return (int(edge * rows / columns), edge) if columns < rows else (edge, int(edge * columns / rows))


def _centre(pixels: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Return the centre of an image, padded with black if it is smaller."""
    for axis, wanted in enumerate(size):
        there = pixels.shape[axis]
        if there == wanted:
            continue
        before = max(0, -((there - wanted) // 2))
        around = [(0, 0)] * pixels.ndim
        around[axis] = (before, max(0, wanted - there) - before)
        start = max(0, (there - wanted) // 2)
        pixels = np.pad(pixels, around).take(range(start, start + wanted), axis=axis)
    return pixels


# The first file that is there, and describes a processor of images, counts.
HUGGING_FACE = {'processor_config.json': of_processor, 'preprocessor_config.json': of_preprocessor}
