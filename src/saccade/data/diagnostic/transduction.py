# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Languages of the Chomsky suite that need more than a stack: duplication, a missing letter, odds first, sorting.

Deletang et al. 2023, "Neural Networks and the Chomsky Hierarchy", section 4 and appendix A,
https://arxiv.org/abs/2207.02098: the context-sensitive tasks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from saccade.data.diagnostic.generator import whole_numbers
from saccade.data.diagnostic.written_base import WrittenBase
from saccade.data.uniform import Uniform

__all__ = ['BucketSort', 'DuplicateString', 'MissingDuplicate', 'OddsFirst']

_LACKING = 2  # in place of the removed letter


class AnyLettersBase(WrittenBase):
    """Base of the tasks on a word of random letters with as many answers."""

    def size(self, length: int) -> int:
        """Return half of the tokens."""
        return length // 2

    def word(self, draw: Uniform, size: int) -> Sequence[int]:
        """Draw letters."""
        return whole_numbers(draw, self.letters, size).tolist()


@dataclass(frozen=True, kw_only=True)
class DuplicateString(AnyLettersBase):
    """Duplication: 0 1 has the answers 0 1 0 1."""

    def size(self, length: int) -> int:
        """Return a third of the tokens."""
        return length // 3

    def written(self, word: Sequence[int]) -> Sequence[int]:
        """Return the word twice."""
        return [*word, *word]


@dataclass(frozen=True, kw_only=True)
class OddsFirst(AnyLettersBase):
    """Odds first: the first, third ... letter, then the second, fourth ..."""

    def written(self, word: Sequence[int]) -> Sequence[int]:
        """Return the letters in this order."""
        return [*word[::2], *word[1::2]]


@dataclass(frozen=True, kw_only=True)
class BucketSort(AnyLettersBase):
    """Sorting of five letters."""

    letters: ClassVar[int] = 5

    def written(self, word: Sequence[int]) -> Sequence[int]:
        """Return the letters in ascending order."""
        return sorted(word)


@dataclass(frozen=True, kw_only=True)
class MissingDuplicate(WrittenBase):
    """A word twice, with one letter of the second copy missing; the answer is that letter."""

    letters: ClassVar[int] = 3

    def size(self, length: int) -> int:
        """Return an even number that leaves room for an answer."""
        return (length - 1) // 2 * 2

    def word(self, draw: Uniform, size: int) -> Sequence[int]:
        """Draw a word twice, without one letter."""
        half = whole_numbers(draw, 2, size // 2).tolist()
        lacking = int(draw(1)[0] * len(half))
        return [*half, *half[:lacking], _LACKING, *half[lacking + 1 :]]

    def written(self, word: Sequence[int]) -> Sequence[int]:
        """Return the missing letter."""
        return [word[word.index(_LACKING) - len(word) // 2]]
