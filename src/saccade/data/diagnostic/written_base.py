# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of the generators of a word and of what is to be written of it: the answers at the blanks that follow it.

b a a . . .     reversing: the answers at the blanks are a a b
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from saccade.data.diagnostic.generator import Example, nothing
from saccade.data.uniform import Uniform


class WrittenBase(ABC):
    """Base of the generators of a word and what is written of it. Letters are numbers from 0; a token is one more."""

    version: ClassVar[int] = 1
    letters: ClassVar[int] = 2

    @property
    def vocabulary(self) -> int:
        """A blank and the letters."""
        return 1 + self.letters

    @property
    def shortest(self) -> int:
        """Tokens of the shortest word and of its answers."""
        return next(length for length in range(1, 100) if self.size(length) > 0)

    @abstractmethod
    def size(self, length: int) -> int:
        """Return the letters of a word that fits into a length together with its answers; 0 where none fits."""

    @abstractmethod
    def word(self, draw: Uniform, size: int) -> Sequence[int]:
        """Draw a word."""

    @abstractmethod
    def written(self, word: Sequence[int]) -> Sequence[int]:
        """Return what is to be written of a word."""

    def example(self, draw: Uniform, length: int) -> Example:
        """Make an example of this length, or of one somewhat less where none has it."""
        word = list(self.word(draw, self.size(length)))
        answers = list(self.written(word))
        tokens = np.array([*word, *[-1] * len(answers)], np.int32) + 1
        targets = np.concatenate([nothing(len(word)), np.array(answers, np.int32) + 1])
        return Example(tokens, targets)
