# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Languages of the Chomsky suite that need a stack: reversal, stack manipulation, arithmetic with brackets, equations.

Deletang et al. 2023, "Neural Networks and the Chomsky Hierarchy", section 4 and appendix A,
https://arxiv.org/abs/2207.02098: the deterministic context-free tasks.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from saccade.data.diagnostic.generator import whole_numbers
from saccade.data.diagnostic.regular import MINUS, PLUS, TIMES
from saccade.data.diagnostic.written_base import WrittenBase
from saccade.data.uniform import Uniform
from saccade.types import Range

__all__ = ['ModularArithmeticBrackets', 'ReverseString', 'SolveEquation', 'StackManipulation']

_POP, _END = 2, 5  # letters: 0 and 1 on the stack, then pop, push 0, push 1; _END ends the answers


@dataclass(frozen=True, kw_only=True)
class ReverseString(WrittenBase):
    """Reversal of a word."""

    def size(self, length: int) -> int:
        """Return half of the tokens."""
        return length // 2

    def word(self, draw: Uniform, size: int) -> Sequence[int]:
        """Draw letters."""
        return whole_numbers(draw, self.letters, size).tolist()

    def written(self, word: Sequence[int]) -> Sequence[int]:
        """Return the letters in reverse order."""
        return word[::-1]


@dataclass(frozen=True, kw_only=True)
class StackManipulation(WrittenBase):
    """A stack from bottom to top, then pops and pushes; the answers are the final stack from the top, and an end."""

    letters: ClassVar[int] = 6

    def size(self, length: int) -> int:
        """Return the word size that leaves room for the largest possible stack."""
        return (length - 1) // 2

    def word(self, draw: Uniform, size: int) -> Sequence[int]:
        """Draw the initial stack, then the operations."""
        there = int(draw(1)[0] * (size + 1))
        stack = whole_numbers(draw, 2, there).tolist()
        return [*stack, *(_POP + whole_numbers(draw, 3, size - there)).tolist()]

    def written(self, word: Sequence[int]) -> Sequence[int]:
        """Return the final stack; a pop of an empty stack has no effect."""
        stack: list[int] = []
        for letter in word:
            if letter == _POP:
                stack = stack[:-1]
            else:
                stack.append(letter if letter < _POP else letter - _POP - 1)
        return [*stack[::-1], _END]


@dataclass(frozen=True, kw_only=True)
class ModularArithmeticBrackets(WrittenBase):
    """Modular arithmetic with brackets: ((1 + 2) * (4 - 3)). Attributes: modulus."""

    modulus: Annotated[int, Range(least=2)] = 5

    @property
    def letters(self) -> int:
        """Number of letters: digits, operators and brackets."""
        return self.modulus + 5

    def size(self, length: int) -> int:
        """Return one plus four per operator, which adds two brackets and an operand."""
        return max((length - 2) // 4 * 4 + 1, 0)

    def word(self, draw: Uniform, size: int) -> Sequence[int]:
        """Draw an expression."""
        return self.expression(draw, size)

    def expression(self, draw: Uniform, size: int) -> list[int]:
        """Draw the nesting of the operators, then operators and digits."""
        if size == 1:
            return whole_numbers(draw, self.modulus, 1).tolist()
        operators = size // 4 - 1  # without the outermost
        left = 4 * int(draw(1)[0] * (operators + 1)) + 1
        first, second = self.expression(draw, left), self.expression(draw, size - 3 - left)
        opening, operator = self.modulus + 3, self.modulus + int(draw(1)[0] * 3)
        return [opening, *first, operator, *second, opening + 1]

    def written(self, word: Sequence[int]) -> Sequence[int]:
        """Return the value."""
        return [self.value(word)]

    def value(self, expression: Sequence[int]) -> int:
        """Return the value of an expression, by a stack."""
        stack: list[int] = []
        for letter in expression:
            if letter < self.modulus + 4:
                stack.append(letter)
                continue
            _, first, operator, second = stack[-4:]
            stack[-4:] = [_of_two(first, operator - self.modulus, second) % self.modulus]
        return stack[0]


@dataclass(frozen=True, kw_only=True)
class SolveEquation(ModularArithmeticBrackets):
    """Equation of modular arithmetic with brackets and one unknown: ((1 + x) * (4 - 3)) = 3, so x is 2.

    It has exactly one solution: x is multiplied only by factors with an inverse, which for a prime modulus are all but
        0.
    The paper's code has no products in equations. Attributes: modulus.
    """

    @property
    def letters(self) -> int:
        """Number of letters: digits, operators, brackets, the unknown and the equals sign."""
        return self.modulus + 7

    def size(self, length: int) -> int:
        """Return three plus four per operator."""
        return max(length // 4 * 4 - 1, 0)

    def word(self, draw: Uniform, size: int) -> Sequence[int]:
        """Draw an expression with an unknown, then its solution, which determines the value."""
        expression = self.with_unknown(draw, size - 2)
        solution = int(draw(1)[0] * self.modulus)
        return [*expression, self.modulus + 6, self.value(self._where(expression, solution))]

    def with_unknown(self, draw: Uniform, size: int) -> list[int]:
        """Draw an expression in which each digit is the unknown with equal probability."""
        if size == 1:
            return [self.modulus + 5]
        left = 4 * int(draw(1)[0] * (size // 4)) + 1
        right = size - 3 - left
        in_first = draw(1)[0] * (size + 3) < left + 3  # n letters have (n + 3) / 4 digits
        unknown = self.with_unknown(draw, left if in_first else right)
        other = self.expression(draw, right if in_first else left)
        operators = 3 if math.gcd(self.value(other), self.modulus) == 1 else TIMES  # exclude TIMES, the last one
        opening, operator = self.modulus + 3, self.modulus + int(draw(1)[0] * operators)
        first, second = (unknown, other) if in_first else (other, unknown)
        return [opening, *first, operator, *second, opening + 1]

    def written(self, word: Sequence[int]) -> Sequence[int]:
        """Return the solution, from the values with the unknown 0 and 1, since the expression is linear in it."""
        zero, one = (self.value(self._where(word[:-2], digit)) for digit in (0, 1))
        return [(word[-1] - zero) * pow(one - zero, -1, self.modulus) % self.modulus]

    def _where(self, expression: Sequence[int], unknown: int) -> list[int]:
        return [unknown if letter == self.modulus + 5 else letter for letter in expression]


def _of_two(first: int, operator: int, second: int) -> int:
    values = {PLUS: first + second, MINUS: first - second}
    return values.get(operator, first * second)
