# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Character tokenizer: one token per character of the training text."""

from collections.abc import Iterable
from dataclasses import dataclass

import tokenizers
from tokenizers import decoders, models

from saccade.data.tokenizer.tokenizer import UNKNOWN, Tokenizer
from saccade.data.tokenizer.trainer import Reserving, numbered, require_text

__all__ = ['Character']


@dataclass(frozen=True)
class Character(Reserving):
    """One token per character, in the order of code points.

    A character outside the training text is [UNK] if that is a special token, and otherwise raises an error.
    """

    def train(self, texts: Iterable[str]) -> Tokenizer:
        """Collect the alphabet of the texts.

        Raises:
            UserError: the texts are empty.
        """
        characters: set[str] = set()
        for text in texts:
            characters.update(text)
        require_text(characters)
        # BPE without merges; if its unknown token is not in the vocabulary, unknown characters raise an error.
        model = models.BPE(numbered(self.reserved, sorted(characters)), [], unk_token=UNKNOWN)
        backend = tokenizers.Tokenizer(model)
        backend.decoder = decoders.Fuse()
        return self.finished(backend)
