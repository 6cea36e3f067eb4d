# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of the datasets with images: the fields that describe how an image becomes an array."""

from dataclasses import dataclass

from saccade.data.image.processor import ImageProcessor
from saccade.types import Count, UserError


@dataclass(frozen=True, kw_only=True)
class DescribedImages:
    """Base of the datasets with images.

    Attributes:
        size: rows and columns of pixels that the model is given.
        channels: 1 of grey images, 3 of coloured ones.
        resize: rows and columns that images are scaled to before the centre of `size` is cut out; one number: the
            shortest edge; None: all images have `size`.
        resampling: how pixels are interpolated, by Pillow's name.
        mean, deviation: subtracted from pixels in [0, 1], and what they are divided by; one number, or one a channel.
        convert: whether images of another kind are converted: grey ones to colours and the reverse, 16 bits to 8,
            transparent ones laid on white. Otherwise they are refused.
    """

    size: tuple[Count, Count]
    channels: Count = 3
    resize: tuple[Count, Count] | Count | None = None
    resampling: str = 'bilinear'
    mean: tuple[float, ...] = (0.5,)
    deviation: tuple[float, ...] = (0.5,)
    convert: bool = False

    def __post_init__(self) -> None:
        _ = self.described

    @property
    def described(self) -> ImageProcessor:
        """The image processor that the fields describe.

        Raises:
            UserError: there can be none.
        """
        fields = ('size', 'channels', 'resize', 'resampling', 'mean', 'deviation', 'convert')
        try:
            return ImageProcessor(**{name: getattr(self, name) for name in fields})
        except UserError as error:
            raise UserError(f'data: {error}') from None

    def require_shape(self, processor: ImageProcessor) -> tuple[int, int, int]:
        """Return rows, columns and channels of an image.

        Raises:
            UserError: the processor makes others.
        """
        wanted = self.described.shape
        if processor.shape != wanted:
            raise UserError(
                f'data.size, data.channels: {list(self.size)} and {self.channels}, but the processor makes images of '
                f'{list(processor.size)} and {processor.channels}'
            )
        return wanted
