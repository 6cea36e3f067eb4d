# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of the augmentations of images, each by itself."""

from abc import ABC, abstractmethod
from typing import ClassVar

import jax
from jaxtyping import Array, Float

from saccade.ops.masking import RowKeys
from saccade.types import Batch, PRNGKey

Image = Float[Array, 'rows columns channels']


class OfImages(ABC):
    """Base of the augmentations of each image by itself."""

    reads: ClassVar[str] = 'images'

    def __call__(self, keys: RowKeys, batch: Batch) -> Batch:
        """Return the batch with its images changed."""
        return {**batch, 'images': jax.vmap(self.changed)(keys, batch['images'])}

    @abstractmethod
    def changed(self, key: PRNGKey, image: Image) -> Image:
        """Return one image, changed at random."""
