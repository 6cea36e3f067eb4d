# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Copying, selective copying, repetition, and induction heads (a needle in a haystack).

    a c b > . . .           copying: the answers at the blanks after > are a c b
    . a . . c b . > . . .   selective copying: the same, with blanks at random positions between
    b a c b a c b a ...     repetition: from the end of the first period on, the answer is the next token
    b a @ c d a ... @       induction heads: the answer at the second @ is the token after the first, c

Copying is a classic task of recurrent networks; selective copying and induction heads as in Gu, Dao 2023, "Mamba",
section 4.1, https://arxiv.org/abs/2312.00752; MAD has selective copying of 16 tokens in 256 (Poli et al. 2024,
https://arxiv.org/abs/2403.17844). Repeated random tokens are how Olsson et al. 2022, "In-context Learning and Induction
Heads", https://arxiv.org/abs/2209.11895, find these heads.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from saccade.data.diagnostic.generator import Example, distinct, nothing, require_at_least, whole_numbers
from saccade.data.uniform import Uniform
from saccade.types import IGNORED, Count, Range, Share

__all__ = ['Copy', 'InductionHeads', 'Repetition', 'SelectiveCopy']


@dataclass(frozen=True, kw_only=True)
class Copy:
    """Copying: as many symbols as fit twice. Attributes: symbols, number of distinct symbols."""

    symbols: Count = 14

    version: ClassVar[int] = 1
    shortest: ClassVar[int] = 3

    @property
    def vocabulary(self) -> int:
        """Number of tokens: a blank, > and the symbols."""
        return 2 + self.symbols

    def example(self, draw: Uniform, length: int) -> Example:
        """Return an example of this length, or one less if it is even."""
        symbols = 2 + whole_numbers(draw, self.symbols, (length - 1) // 2)
        return _copied(symbols, symbols)


@dataclass(frozen=True, kw_only=True)
class SelectiveCopy:
    """Selective copying. Attributes: symbols, number of distinct symbols; count, number of symbols to copy."""

    symbols: Count = 14
    count: Count = 16

    version: ClassVar[int] = 1

    @property
    def vocabulary(self) -> int:
        """Number of tokens: a blank, > and the symbols."""
        return 2 + self.symbols

    @property
    def shortest(self) -> int:
        """Minimum length: the symbols twice, and >."""
        return 2 * self.count + 1

    def example(self, draw: Uniform, length: int) -> Example:
        """Return an example of this length."""
        symbols = 2 + whole_numbers(draw, self.symbols, self.count)
        shown = np.zeros(length - self.count - 1, np.int32)
        shown[np.sort(distinct(draw, len(shown), self.count))] = symbols
        return _copied(shown, symbols)


@dataclass(frozen=True, kw_only=True)
class InductionHeads:
    """Induction heads: recall the token that followed an earlier, unique token.

    Attributes:
        symbols: number of other tokens; 15 in the paper.
        depth: relative position of the unique token, from 0 at the start to almost 1 just before the end; None for
            random. Needle-in-a-haystack tests evaluate each depth.
    """

    symbols: Annotated[int, Range(least=2)] = 15
    depth: Share | None = None

    version: ClassVar[int] = 1
    shortest: ClassVar[int] = 3

    @property
    def vocabulary(self) -> int:
        """Number of tokens: the queried token, and the others."""
        return 1 + self.symbols

    def example(self, draw: Uniform, length: int) -> Example:
        """Return an example of this length."""
        tokens, depth = 1 + whole_numbers(draw, self.symbols, length), draw(1)[0] if self.depth is None else self.depth
        place = min(int(depth * (length - 2)), length - 3)
        tokens[[place, -1]] = 0
        targets = nothing(length)
        targets[-1] = tokens[place + 1]
        return Example(tokens, targets)


@dataclass(frozen=True, kw_only=True)
class Repetition:
    """Repetition: a random sequence repeats, and each repeated token is predicted.

    Attributes:
        symbols: number of distinct tokens.
        least, most: minimum and maximum period, in tokens; periods vary, as one period needs only a fixed offset.
    """

    symbols: Count = 32
    least: Count = 8
    most: int = 16

    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        require_at_least(self.least, most=self.most)

    @property
    def vocabulary(self) -> int:
        """Number of tokens."""
        return self.symbols

    @property
    def shortest(self) -> int:
        """Minimum length: the longest period, whose last token has the first answer."""
        return self.most

    def example(self, draw: Uniform, length: int) -> Example:
        """Return an example of this length."""
        period = self.least + int(draw(1)[0] * (self.most - self.least + 1))
        repeated = np.resize(whole_numbers(draw, self.symbols, period), length + 1)
        targets = repeated[1:].copy()
        targets[: period - 1] = IGNORED
        return Example(repeated[:-1], targets)


def _copied(shown: np.ndarray, answers: np.ndarray) -> Example:
    blanks = np.zeros(len(answers), np.int32)
    tokens = np.concatenate([shown, [1], blanks]).astype(np.int32)
    return Example(tokens, np.concatenate([nothing(len(shown) + 1), answers]).astype(np.int32))
