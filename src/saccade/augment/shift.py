# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Random shift of the image along each axis; new pixels are 0, the data's mean.

It equals a random crop of the padded image: He et al. 2016, "Deep Residual Learning for Image Recognition", section
4.2, https://arxiv.org/abs/1512.03385.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from saccade.augment.image_base import Image, OfImages
from saccade.types import Count, PRNGKey

__all__ = ['Shift']


@dataclass(frozen=True)
class Shift(OfImages):
    """Random shift. Attributes: pixels, the maximum shift along each axis."""

    pixels: Count

    def changed(self, key: PRNGKey, image: Image) -> Image:
        """Return the image, shifted."""
        start = jax.random.randint(key, (2,), 0, 2 * self.pixels + 1)
        around = jnp.pad(image, ((self.pixels, self.pixels), (self.pixels, self.pixels), (0, 0)))
        return jax.lax.dynamic_slice(around, (*start, 0), image.shape)
