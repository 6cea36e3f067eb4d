# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base class of augmentations of single images."""

from abc import ABC, abstractmethod
from typing import ClassVar

import jax
from jaxtyping import Array, Float

from saccade.ops.masking import RowKeys
from saccade.types import Batch, PRNGKey

Image = Float[Array, 'rows columns channels']


class OfImages(ABC):
    """Base class of augmentations that transform each image independently."""

    reads: ClassVar[str] = 'images'

    def __call__(self, keys: RowKeys, batch: Batch) -> Batch:
        """Return the batch with transformed images."""
        return {**batch, 'images': jax.vmap(self.changed)(keys, batch['images'])}

    @abstractmethod
    def changed(self, key: PRNGKey, image: Image) -> Image:
        """Return one image, randomly transformed."""
