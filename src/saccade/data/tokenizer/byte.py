# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Byte tokenizer: one token per byte of UTF-8."""

from collections.abc import Iterable
from dataclasses import dataclass

import tokenizers
from tokenizers import decoders, models, pre_tokenizers

from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.data.tokenizer.trainer import Reserving, numbered

__all__ = ['Byte']


@dataclass(frozen=True)
class Byte(Reserving):
    """One token per byte of UTF-8, without training or unknown tokens. Ids of bytes follow the special tokens."""

    @property
    def vocabulary(self) -> int:
        """Number of tokens, including the special ones."""
        return len(self.reserved) + 256

    def train(self, texts: Iterable[str]) -> Tokenizer:
        """Return the byte tokenizer; the texts are not used."""
        # Bytes are spelled as in every byte-level vocabulary: a printable Latin-1 byte by its own character, the others
        # by characters from U+0100 on, in order.
        alphabet = set(pre_tokenizers.ByteLevel.alphabet())
        others = iter(sorted(symbol for symbol in alphabet if ord(symbol) > 255))
        symbols = [chr(byte) if chr(byte) in alphabet else next(others) for byte in range(256)]
        backend = tokenizers.Tokenizer(models.BPE(numbered(self.reserved, symbols), []))
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        backend.decoder = decoders.ByteLevel()
        return self.finished(backend)
