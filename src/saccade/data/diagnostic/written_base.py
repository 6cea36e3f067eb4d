# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of generators of a word followed by blanks, at which the answers are a function of the word.

b a a . . .     reversal: the answers at the blanks are a a b
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from saccade.data.diagnostic.generator import Example, nothing
from saccade.data.uniform import Uniform


class WrittenBase(ABC):
    """Base of generators of a word and its answers. Letters are numbers from 0; tokens are letters plus one."""

    version: ClassVar[int] = 1
    letters: ClassVar[int] = 2

    @property
    def vocabulary(self) -> int:
        """Number of tokens: a blank and the letters."""
        return 1 + self.letters

    @property
    def shortest(self) -> int:
        """Minimum length of a word with its answers."""
        return next(length for length in range(1, 100) if self.size(length) > 0)

    @abstractmethod
    def size(self, length: int) -> int:
        """Return the size of a word that fits a length together with its answers; 0 if none fits."""

    @abstractmethod
    def word(self, draw: Uniform, size: int) -> Sequence[int]:
        """Draw a word."""

    @abstractmethod
    def written(self, word: Sequence[int]) -> Sequence[int]:
        """Return the answers of a word."""

    def example(self, draw: Uniform, length: int) -> Example:
        """Return an example of this length, or somewhat less if there is none."""
        word = list(self.word(draw, self.size(length)))
        answers = list(self.written(word))
        tokens = np.array([*word, *[-1] * len(answers)], np.int32) + 1
        targets = np.concatenate([nothing(len(word)), np.array(answers, np.int32) + 1])
        return Example(tokens, targets)
