# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Arithmetic of binary numbers in the Chomsky suite: addition, multiplication, square roots.

Deletang et al. 2023, "Neural Networks and the Chomsky Hierarchy", section 4 and appendix A,
https://arxiv.org/abs/2207.02098: the context-sensitive tasks. Formats follow their code,
https://github.com/google-deepmind/neural_networks_chomsky_hierarchy, except where a docstring says otherwise.
"""

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from saccade.data.diagnostic.generator import whole_numbers
from saccade.data.diagnostic.written_base import WrittenBase
from saccade.data.uniform import Uniform

__all__ = ['BinaryAddition', 'BinaryMultiplication', 'ComputeSqrt']

_END = 2  # separates two numbers, and ends what is written


class TwoNumbersBase(WrittenBase):
    """Base of the tasks on two binary numbers, each with its lowest bit first.

    The result also has its lowest bit first, without trailing zeros, followed by an end token and zeros up to as many
    answers as the word has letters. All answers count; the paper trains on all too, but does not measure those after
    the end token. The paper's numbers are not 0; here they are any bits.
    """

    letters: ClassVar[int] = 3

    @abstractmethod
    def result(self, first: int, second: int) -> int:
        """Return the result, which has at most as many bits as both numbers together."""

    def size(self, length: int) -> int:
        """Return half of the tokens, if they suffice for two numbers of one bit."""
        return length // 2 if length >= 6 else 0

    def word(self, draw: Uniform, size: int) -> Sequence[int]:
        """Draw bits, and the position of the separator between the two numbers."""
        word = whole_numbers(draw, 2, size).tolist()
        word[1 + int(draw(1)[0] * (size - 2))] = _END
        return word

    def written(self, word: Sequence[int]) -> Sequence[int]:
        """Return the result, an end token and zeros."""
        middle = word.index(_END)
        bits = _bits(self.result(_number(word[:middle][::-1]), _number(word[middle + 1 :][::-1])))[::-1]
        return [*bits, _END, *[0] * (len(word) - len(bits) - 1)]


@dataclass(frozen=True, kw_only=True)
class BinaryAddition(TwoNumbersBase):
    """Binary addition: 10010+101, which is 9 + 5, has the answers 0111.00000. The paper has one more zero."""

    def result(self, first: int, second: int) -> int:
        """Return the sum."""
        return first + second


@dataclass(frozen=True, kw_only=True)
class BinaryMultiplication(TwoNumbersBase):
    """Binary multiplication: 1001*011, which is 9 * 6, has the answers 011011.0."""

    def result(self, first: int, second: int) -> int:
        """Return the product."""
        return first * second


@dataclass(frozen=True, kw_only=True)
class ComputeSqrt(WrittenBase):
    """Square root of a binary number, rounded down, highest bit first: 100101, which is 37, has the answers 110.

    The root has half as many bits as the number, rounded up, with leading zeros.
    """

    def size(self, length: int) -> int:
        """Return two thirds of the tokens."""
        return length * 2 // 3

    def word(self, draw: Uniform, size: int) -> Sequence[int]:
        """Draw bits. The paper's number is not 0."""
        return whole_numbers(draw, 2, size).tolist()

    def written(self, word: Sequence[int]) -> Sequence[int]:
        """Return the root."""
        bits = _bits(math.isqrt(_number(word)))
        return [*[0] * ((len(word) + 1) // 2 - len(bits)), *bits]


def _number(bits: Sequence[int]) -> int:
    return int(''.join(map(str, bits)), 2)


def _bits(number: int) -> list[int]:
    return [int(bit) for bit in f'{number:b}']
