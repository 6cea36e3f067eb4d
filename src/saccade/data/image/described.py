# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of datasets with images: the fields of their image processor."""

from dataclasses import dataclass

from saccade.data.image.processor import ImageProcessor
from saccade.types import Count, UserError


@dataclass(frozen=True, kw_only=True)
class DescribedImages:
    """Base of datasets with images.

    Attributes:
        size: rows and columns of pixels of the model's input.
        channels: 1 for grey images, 3 for colour.
        resize: rows and columns to scale to before cropping the centre of `size`; one number: the shortest edge; None:
            all images have `size`.
        resampling: interpolation, by Pillow's name.
        mean, deviation: subtracted from pixels in [0, 1], and the divisor; one number, or one per channel.
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

    def __post_init__(self) -> None:
        _ = self.described

    @property
    def described(self) -> ImageProcessor:
        """Image processor with the settings of the fields.

        Raises:
            UserError: the settings are invalid.
        """
        fields = ('size', 'channels', 'resize', 'resampling', 'mean', 'deviation', 'convert')
        try:
            return ImageProcessor(**{name: getattr(self, name) for name in fields})
        except UserError as error:
            raise UserError(f'data: {error}') from None

    def require_shape(self, processor: ImageProcessor) -> tuple[int, int, int]:
        """Return rows, columns and channels of an image.

        Raises:
            UserError: the processor's images have another shape.
        """
        wanted = self.described.shape
        if processor.shape != wanted:
            raise UserError(
                f'data.size, data.channels: {list(self.size)} and {self.channels}, but the processor has '
                f'{list(processor.size)} and {processor.channels}'
            )
        return wanted
