# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Random horizontal flip.

Krizhevsky et al. 2012, "ImageNet Classification with Deep Convolutional Neural Networks", section 4.1,
https://papers.nips.cc/paper/4824. Not for digits or text, which it makes unreadable.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from saccade.augment.image_base import Image, OfImages
from saccade.types import PRNGKey, Share

__all__ = ['Flip']


@dataclass(frozen=True)
class Flip(OfImages):
    """Random horizontal flip. Attributes: share of the images to flip."""

    share: Share = 0.5

    def changed(self, key: PRNGKey, image: Image) -> Image:
        """Return the image, possibly flipped."""
        return jnp.where(jax.random.bernoulli(key, self.share), image[:, ::-1], image)
