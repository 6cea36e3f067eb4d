# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Random resized crop: a crop of random area and aspect ratio, resized to the size of the image.

Szegedy et al. 2015, "Going Deeper with Convolutions", section 6, https://arxiv.org/abs/1409.4842. Resizing is bilinear
without antialiasing, which is not needed: a crop is never larger than the image.
"""

from dataclasses import dataclass
from typing import Annotated

import jax
import jax.numpy as jnp

from saccade.augment.image_base import Image, OfImages
from saccade.types import PRNGKey, Range

__all__ = ['Crop']


@dataclass(frozen=True)
class Crop(OfImages):
    """Random resized crop.

    Attributes:
        least: minimum of the cropped share of the area; the maximum is 1.
        ratio: maximum of width over height, relative to the image's; the minimum is 1 / ratio.
    """

    least: Annotated[float, Range(above=0, most=1)] = 0.08
    ratio: Annotated[float, Range(least=1)] = 4 / 3

    def changed(self, key: PRNGKey, image: Image) -> Image:
        """Return a random crop of the image, resized to the image's size."""
        area_key, ratio_key, place_key = jax.random.split(key, 3)
        area = jax.random.uniform(area_key, minval=self.least, maxval=1.0)
        ratio = self.ratio ** jax.random.uniform(ratio_key, minval=-1.0, maxval=1.0)
        kept = jnp.minimum(jnp.sqrt(area * jnp.array([1 / ratio, ratio])), 1.0)  # share of the rows, of the columns
        size = jnp.array(image.shape[:2])
        corner = jax.random.uniform(place_key, (2,)) * (1 - kept) * size
        return jax.image.scale_and_translate(
            image, image.shape, (0, 1), 1 / kept, -corner / kept, 'linear', antialias=False
        )
