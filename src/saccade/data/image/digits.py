# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Handwritten digits: 1,797 grey images of 8 by 8 pixels, included in scikit-learn; nothing is downloaded.

Alpaydin, Kaynak 1998, "Optical Recognition of Handwritten Digits", https://doi.org/10.24432/C50P49, its test part.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Int

from saccade.data.image.labelled_base import LabelledImagesBase
from saccade.data.image.processor import ImageProcessor
from saccade.data.image.rows import ImageArrays
from saccade.data.labelled_base import Labelled
from saccade.data.stratified import stratified
from saccade.types import Part, UserError

__all__ = ['Digits', 'last_fifth', 'stratified_fifth']

_FIFTH = 0.2
_DARKEST = 16  # scikit-learn's pixels are counts from 0 to 16


def stratified_fifth(labels: Int[np.ndarray, 'images'], /) -> Bool[np.ndarray, 'images']:
    """Indices of held-out images: a fifth of each class, always the same ones."""
    return stratified(labels, _FIFTH)


def last_fifth(labels: Int[np.ndarray, 'images'], /) -> Bool[np.ndarray, 'images']:
    """Indices of held-out images: the last fifth of the file, by other writers, a harder split."""
    return np.arange(len(labels)) >= round((1 - _FIFTH) * len(labels))


@dataclass(frozen=True, kw_only=True)
class Digits(LabelledImagesBase):
    """Handwritten digits. Attributes: held_out, selects the validation split."""

    processor: Part[ImageProcessor] = Part(ImageProcessor, (('channels', 1), ('size', (8, 8))))  # noqa: RUF009
    held_out: Part

    classes: ClassVar[int] = 10

    def _labelled(self, cache: Path) -> tuple[Mapping[str, Labelled], str]:
        try:
            from sklearn.datasets import load_digits
        except ImportError as error:
            raise UserError(
                'data.image.digits:Digits: the digits are in scikit-learn, which is not installed: '
                'pip install "saccade[vision]"'
            ) from error
        found = load_digits()
        pixels = np.round(found.images * (255 / _DARKEST)).astype(np.uint8)[..., None]
        aside = self.held_out(found.target)
        names = tuple(map(str, range(self.classes)))
        parts = {'train': ~aside, 'validation': aside}
        return {
            name: Labelled(ImageArrays(pixels[part], name), found.target[part].astype(np.int32), names)
            for name, part in parts.items()
        }, self.held_out.name
