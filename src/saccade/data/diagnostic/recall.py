# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Multi-query associative recall (MQAR): pairs of a key and a value, then the keys again among other tokens.

    k1 v1 k2 v2 ... kn vn   .  .  k2  .  k1  .  ...      at each key that stands there again the answer is its value

Arora et al. 2023, "Zoology: Measuring and Improving Recall in Efficient Language Models", section 4 and appendix E,
https://arxiv.org/abs/2312.04927. The x-th place of two tokens after the pairs is taken by a key with weight
x^(spread - 1), so that most keys come back soon. Values are never shown again: only the state can tell them. Chance is
one in the values, half of the vocabulary.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from saccade.data.diagnostic.generator import Example, distinct, nothing, require_at_least, whole_numbers
from saccade.data.uniform import Uniform
from saccade.types import Count, Positive

__all__ = ['MultiQueryRecall']


@dataclass(frozen=True, kw_only=True)
class MultiQueryRecall:
    """Multi-query associative recall.

    Attributes:
        vocabulary: token 0 is blank, then keys, and from its half values.
        pairs: shown, and asked for.
        spread: 0.01 as published; 1 for keys that come back anywhere.
        random_filler: whether the tokens between are any; else they are blank, as in the published figures.
    """

    vocabulary: Count = 8192
    pairs: Count = 4
    spread: Positive = 0.01
    random_filler: bool = False

    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        require_at_least(2 * self.pairs + 2, vocabulary=self.vocabulary)

    @property
    def shortest(self) -> int:
        """Tokens of the pairs, and a place of two tokens for each key."""
        return 4 * self.pairs

    def example(self, draw: Uniform, length: int) -> Example:
        """Make an example of this length."""
        first, shown, places = self.vocabulary // 2, 2 * self.pairs, (length - 2 * self.pairs) // 2
        keys = 1 + distinct(draw, first - 1, self.pairs)
        values = first + distinct(draw, self.vocabulary - first, self.pairs)
        # The first of exponential clocks of these rates is each place with its weight, and so on without it.
        clocks = -np.log1p(-draw(places)) / np.arange(1, places + 1) ** (self.spread - 1)
        asked = shown + 2 * np.argsort(clocks)[: self.pairs]
        tokens = whole_numbers(draw, self.vocabulary, length) if self.random_filler else np.zeros(length, np.int32)
        tokens[0:shown:2], tokens[1:shown:2], tokens[asked] = keys, values, keys
        targets = nothing(length)
        targets[asked] = values
        return Example(tokens, targets)
