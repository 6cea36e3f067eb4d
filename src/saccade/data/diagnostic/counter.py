# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Counter languages: the possible next tokens are determined by counting, and by no finite automaton at every length.

    a a b b c c       runs of equal length: after each letter, the set of letters that may follow
    ( [ ) ( ] )       brackets of several kinds, each balanced, not necessarily nested: the kinds that may close

Bhattamishra, Ahuja, Goyal 2020, "On the Ability and Limitations of Transformers to Recognize Formal Languages",
sections 3 and 5, https://arxiv.org/abs/2009.11264: a^n b^n, a^n b^n c^n and Shuffle-k, for networks that predict the
set of letters that may follow. There each letter has a separate score; here a set is one answer. They train on words of
up to 50 letters, and evaluate on up to 150.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from saccade.data.diagnostic.generator import Example, whole_numbers
from saccade.data.uniform import Uniform
from saccade.types import Count, Range, Share

__all__ = ['EqualRuns', 'ShuffledBrackets']


@dataclass(frozen=True, kw_only=True)
class EqualRuns:
    """Runs of equal length, one of each letter: a^n b^n, a^n b^n c^n ...

    The answer at a letter is the letter that must follow; the number of letters at the end of the word; or one more
    than that in the first run, which may end anywhere. Words are repeated to fill a length. Attributes: letters, their
    number.
    """

    letters: Annotated[int, Range(least=2)] = 3

    version: ClassVar[int] = 1
    shortest: ClassVar[int] = 1

    @property
    def vocabulary(self) -> int:
        """Number of tokens: the letters, the end, and the choice in the first run."""
        return self.letters + 2

    def example(self, draw: Uniform, length: int) -> Example:
        """Return an example of this length; its last word may be truncated."""
        tokens: list[int] = []
        targets: list[int] = []
        while len(tokens) < length:
            run = 1 + int(draw(1)[0] * max((length - len(tokens)) // self.letters, 1))
            word = np.repeat(np.arange(self.letters), run).tolist()
            tokens += word
            targets += [*run * [self.letters + 1], *word[run + 1 :], self.letters]
        return Example(np.array(tokens[:length], np.int32), np.array(targets[:length], np.int32))


@dataclass(frozen=True, kw_only=True)
class ShuffledBrackets:
    """Shuffled brackets, Shuffle-k: a prefix of a word in which each of k kinds of brackets is balanced separately.

    The answer at a bracket is the set of open kinds, as a number whose bit i is kind i. Attributes: kinds, k; opening,
    the probability that a bracket opens where one may also close.
    """

    kinds: Count = 2
    opening: Share = 0.5

    version: ClassVar[int] = 1
    shortest: ClassVar[int] = 1

    @property
    def vocabulary(self) -> int:
        """Number of tokens: brackets, or sets of kinds."""
        return max(2 * self.kinds, 2**self.kinds)

    def example(self, draw: Uniform, length: int) -> Example:
        """Return an example of this length: token 2 i opens kind i, and 2 i + 1 closes it."""
        depths = np.zeros(self.kinds, np.int32)
        tokens, targets = np.zeros(length, np.int32), np.zeros(length, np.int32)
        kinds, opens, choices = whole_numbers(draw, self.kinds, length), draw(length) < self.opening, draw(length)
        for place in range(length):
            there = np.flatnonzero(depths)
            closes = len(there) > 0 and not opens[place]
            kind = there[int(choices[place] * len(there))] if closes else kinds[place]
            depths[kind] += -1 if closes else 1
            tokens[place] = 2 * kind + closes
            targets[place] = (depths > 0) @ (1 << np.arange(self.kinds))
        return Example(tokens, targets)
