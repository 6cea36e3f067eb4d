# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Regular languages of the Chomsky suite: one answer after the last letter, computable by a finite automaton.

Deletang et al. 2023, "Neural Networks and the Chomsky Hierarchy", section 4 and appendix A,
https://arxiv.org/abs/2207.02098. They train on words of 1 to 40 letters and evaluate on up to 500, where recurrent
networks generalise and Transformers do not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from saccade.data.diagnostic.generator import whole_numbers
from saccade.data.diagnostic.written_base import WrittenBase
from saccade.data.uniform import Uniform
from saccade.types import Range

__all__ = ['CycleNavigation', 'EvenPairs', 'ModularArithmetic', 'ParityCheck']

PLUS, MINUS, TIMES = range(3)  # operators, as letters after the digits


class RegularBase(WrittenBase):
    """Base of the tasks with one answer at the end of a word of random letters."""

    def size(self, length: int) -> int:
        """Return one less than the number of tokens."""
        return length - 1

    def word(self, draw: Uniform, size: int) -> Sequence[int]:
        """Draw letters."""
        return whole_numbers(draw, self.letters, size).tolist()


@dataclass(frozen=True, kw_only=True)
class ParityCheck(RegularBase):
    """Parity: 1 if the number of ones is odd."""

    def written(self, word: Sequence[int]) -> Sequence[int]:
        """Return 1 for an odd number of ones, otherwise 0."""
        return [sum(word) % 2]


@dataclass(frozen=True, kw_only=True)
class EvenPairs(RegularBase):
    """Even pairs: 1 if 01 and 10 together occur an even number of times; so the first letter equals the last."""

    def written(self, word: Sequence[int]) -> Sequence[int]:
        """Return 1 if the first letter equals the last, otherwise 0."""
        return [int(word[0] == word[-1])]


@dataclass(frozen=True, kw_only=True)
class CycleNavigation(RegularBase):
    """Cycle navigation: the position on a cycle after steps of 0, 1 and -1. Attributes: places, length of the cycle."""

    places: Annotated[int, Range(least=3)] = 5

    @property
    def letters(self) -> int:
        """Number of letters: steps, and positions as answers."""
        return self.places

    def word(self, draw: Uniform, size: int) -> Sequence[int]:
        """Draw steps: 0, 1, and 2 for -1."""
        return whole_numbers(draw, 3, size).tolist()

    def written(self, word: Sequence[int]) -> Sequence[int]:
        """Return the last position."""
        return [(word.count(1) - word.count(2)) % self.places]


@dataclass(frozen=True, kw_only=True)
class ModularArithmetic(RegularBase):
    """Modular arithmetic: 1 + 2 * 4 - 3, with products first. Attributes: modulus."""

    modulus: Annotated[int, Range(least=2)] = 5

    @property
    def letters(self) -> int:
        """Number of letters: digits and operators."""
        return self.modulus + 3

    def size(self, length: int) -> int:
        """Return an odd number: digits with operators between them."""
        return max(length // 2 * 2 - 1, 0)

    def word(self, draw: Uniform, size: int) -> Sequence[int]:
        """Draw digits and operators alternately."""
        word = whole_numbers(draw, self.modulus, size)
        word[1::2] = self.modulus + whole_numbers(draw, 3, size // 2)
        return word.tolist()

    def written(self, word: Sequence[int]) -> Sequence[int]:
        """Return the value."""
        total, product = 0, word[0]
        for operator, digit in zip(word[1::2], word[2::2], strict=True):
            if operator - self.modulus == TIMES:
                product = product * digit
            else:
                total, product = total + product, digit if operator - self.modulus == PLUS else -digit
        return [(total + product) % self.modulus]
