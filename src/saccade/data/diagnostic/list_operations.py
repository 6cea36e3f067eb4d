# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""ListOps: the value of nested operations on lists of digits.

    [MAX 4 3 [MIN 2 3 ] 1 [SM 5 6 ] ]     is 4: of MIN 2, and of SM, the sum modulo ten, 1

Nangia, Bowman 2018, "ListOps", https://arxiv.org/abs/1804.06028; with 500 to 2,000 tokens in Tay et al. 2021, "Long
Range Arena", https://arxiv.org/abs/2011.04006. Those are drawn until they have that length; here the tokens are divided
among the operands, so accuracies are not comparable. Chance is 0.11, since digits are almost equally frequent.
"""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from saccade.data.diagnostic.written_base import WrittenBase
from saccade.data.uniform import Uniform
from saccade.types import Count, Range

__all__ = ['ListOperations']

_OPERATIONS: Sequence[Callable[[Sequence[int]], int]] = (
    max,
    min,
    lambda values: int(statistics.median(values)),
    lambda values: sum(values) % 10,
)
_CLOSED = 10 + len(_OPERATIONS)  # the closing bracket, after digits and operations


@dataclass(frozen=True, kw_only=True)
class ListOperations(WrittenBase):
    """ListOps. Attributes: operands, maximum number per operation; depth, maximum nesting."""

    operands: Annotated[int, Range(least=2)] = 5
    depth: Count = 10

    letters: ClassVar[int] = _CLOSED + 1

    def size(self, length: int) -> int:
        """Return one less than the length, if there is room for an operation of two digits."""
        return length - 1 if length > 4 else 0

    def word(self, draw: Uniform, size: int) -> Sequence[int]:
        """Draw an operation of at most `size` tokens."""
        return self._operation(draw, size, self.depth)

    def written(self, word: Sequence[int]) -> Sequence[int]:
        """Return the value, by a stack of the open lists."""
        open_lists: list[list[int]] = [[]]
        for letter in word:
            if letter < 10:
                open_lists[-1].append(letter)
            elif letter < _CLOSED:
                open_lists.append([letter - 10])
            else:
                operation, *values = open_lists.pop()
                open_lists[-1].append(_OPERATIONS[operation](values))
        return open_lists[0]

    def _operation(self, draw: Uniform, size: int, depth: int) -> list[int]:
        """Return an operation, or a digit if there is no room for one."""
        if size < 4 or depth == 0:
            return [int(draw(1)[0] * 10)]
        count = 2 + int(draw(1)[0] * (min(self.operands, size - 2) - 1))
        cuts = np.sort(1 + np.argsort(draw(size - 3))[: count - 1])  # each operand has at least one token
        sizes = np.diff([0, *cuts, size - 2]).tolist()
        operands = [letter for part in sizes for letter in self._operation(draw, part, depth - 1)]
        return [10 + int(draw(1)[0] * len(_OPERATIONS)), *operands, _CLOSED]
