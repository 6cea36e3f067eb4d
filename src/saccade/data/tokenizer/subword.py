# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of the trainers of subwords: the counted words of the texts, and an alphabet of limited size."""

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
    """Base of a trainer of subwords, with a token for the unknown.

    Attributes:
        vocabulary: tokens at most, the special ones included. A short text yields fewer.
        alphabet: characters at most, the most frequent; words with another are not learned from. BERT has about 1000.
    """

    vocabulary: int
    alphabet: Count = field(default=1000, kw_only=True)

    # What the name of a piece has where a word begins, or where it goes on.
    mark: ClassVar[str]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_vocabulary(self.vocabulary, len(self.known) + 1)
        cutter = self._cutter()
        for name in self.known:
            if self.mark in name or name in _words(cutter, name):
                raise UserError(f'specials: {name!r} might be a piece of a text; use a name like {UNKNOWN}')

    def _cutter(self) -> tokenizers.Tokenizer:
        """Return what cuts a text into words as the trained tokenizer will."""
        raise NotImplementedError

    def _counted(self, texts: Iterable[str]) -> dict[str, int]:
        """Count the words within the alphabet.

        Raises:
            UserError: there is none.
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
        """Return how many pieces there may be.

        Raises:
            UserError: fewer than those of one character.
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
