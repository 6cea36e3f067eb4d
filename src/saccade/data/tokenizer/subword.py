# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of the trainers of subwords: word counts of the texts, and an alphabet of limited size."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

import tokenizers

from saccade.data.tokenizer.tokenizer import UNKNOWN
from saccade.data.tokenizer.trainer import Reserving, check_vocabulary, require_text
from saccade.types import Count, UserError


@dataclass(frozen=True)
class Subword(Reserving):
    """Base of a trainer of subwords, with an unknown token.

    Attributes:
        vocabulary: maximum number of tokens, including the special ones. A short text yields fewer.
        alphabet: maximum number of characters, the most frequent ones; words with others are not used for training.
            BERT has about 1000.
    """

    vocabulary: int
    alphabet: Count = field(default=1000, kw_only=True)

    # Mark of pieces at the start or the end of a word, or of pieces that continue one.
    mark: ClassVar[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_vocabulary(self.vocabulary, len(self.known) + 1)
        for name in self.known:
            if self._ambiguous(name):
                raise UserError(f'specials: {name!r} might be a piece of a text; use a name like {UNKNOWN}')

    def _cutter(self) -> tokenizers.Tokenizer:
        """Return a tokenizer that splits a text into words as the trained one will."""
        raise NotImplementedError

    def _ambiguous(self, name: str) -> bool:
        """Return whether a text may have a piece with this name."""
        return self.mark in name or name in _words(self._cutter(), name)

    def _counted(self, texts: Iterable[str]) -> dict[str, int]:
        """Count the words within the alphabet.

        Raises:
            UserError: there are none.
        """
        cutter = self._cutter()
        words = Counter(word for text in texts for word in _words(cutter, text))
        characters = Counter()
        for word, count in words.items():
            for character in word:
                characters[character] += count
        kept = {*sorted(characters, key=lambda character: (-characters[character], character))[: self.alphabet]}
        words = {word: count for word, count in words.items() if kept.issuperset(word)}
        require_text(words)
        return words

    def _room(self, singles: int) -> int:
        """Return the number of pieces that fit the vocabulary.

        Raises:
            UserError: the single characters exceed it.
        """
        room = self.vocabulary - len(self.known)
        if room < singles:
            raise UserError(
                f'vocabulary: {self.vocabulary} tokens are too few for {singles} pieces of one character; '
                f'use {singles + len(self.known)}, or a smaller alphabet'
            )
        return room


def _words(cutter: tokenizers.Tokenizer, text: str) -> list[str]:
    normalized = cutter.normalizer.normalize_str(text) if cutter.normalizer else text
    return [word for word, _ in cutter.pre_tokenizer.pre_tokenize_str(normalized)]
