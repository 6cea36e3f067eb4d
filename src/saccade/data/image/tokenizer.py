# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Processor of texts with images: a tokenizer, and an image processor that is stored with it."""

import hashlib
from pathlib import Path

from saccade.data.image.processor import ImageProcessor
from saccade.data.tokenizer.file import find_tokenizer, open_tokenizer
from saccade.data.tokenizer.tokenizer import Tokenizer


class TokenizerAndImages(Tokenizer):
    """Tokenizer with an image processor. Attributes: images, the image processor."""

    def __init__(self, tokenizer: Tokenizer, images: ImageProcessor):
        super().__init__(tokenizer.backend, roles=tokenizer.roles, file=tokenizer.file)
        self.images = images

    @property
    def digest(self) -> str:
        """SHA-256 of both digests, in hexadecimal."""
        return hashlib.sha256((super().digest + self.images.digest).encode()).hexdigest()

    def save(self, folder: Path | str) -> None:
        """Write tokenizer.json and processor.json into a folder.

        Raises:
            UserError: a file cannot be written.
        """
        super().save(folder)
        self.images.save(Path(folder))


def open_tokenizer_and_images(folder: Path) -> TokenizerAndImages | None:
    """Open both in a run's folder or a Hugging Face directory; None if one is missing.

    Raises:
        UserError: a file is damaged.
    """
    images, file = ImageProcessor.load(folder), find_tokenizer(folder)
    return None if images is None or file is None else TokenizerAndImages(open_tokenizer(file), images)
