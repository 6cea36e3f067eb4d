# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Multi-query associative recall (MQAR): pairs of a key and a value, then the keys again among other tokens.

    k1 v1 k2 v2 ... kn vn   .  .  k2  .  k1  .  ...      the answer at each repeated key is its value

Arora et al. 2023, "Zoology: Measuring and Improving Recall in Efficient Language Models", section 4 and appendix E,
https://arxiv.org/abs/2312.04927. Keys recur at even positions after the pairs; the x-th such position is chosen with
weight x^(spread - 1), so most keys recur soon. Values are never repeated, so they must be in the state. Chance is one
in the number of values, half of the vocabulary.
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
        vocabulary: number of tokens: 0 is blank, followed by keys; the second half are values.
        pairs: number of pairs, and of queries.
        spread: 0.01 as published; 1 for uniform positions of the queries.
        random_filler: fill the remaining positions with random tokens; otherwise with blanks, as in the published
            figures.
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
        """Minimum length: the pairs, and two positions for each query."""
        return 4 * self.pairs

    def example(self, draw: Uniform, length: int) -> Example:
        """Return an example of this length."""
        first, shown, places = self.vocabulary // 2, 2 * self.pairs, (length - 2 * self.pairs) // 2
        keys = 1 + distinct(draw, first - 1, self.pairs)
        values = first + distinct(draw, self.vocabulary - first, self.pairs)
        # Weighted sampling without replacement: the first of exponential clocks with these rates.
        clocks = -np.log1p(-draw(places)) / np.arange(1, places + 1) ** (self.spread - 1)
        asked = shown + 2 * np.argsort(clocks)[: self.pairs]
        tokens = whole_numbers(draw, self.vocabulary, length) if self.random_filler else np.zeros(length, np.int32)
        tokens[0:shown:2], tokens[1:shown:2], tokens[asked] = keys, values, keys
        targets = nothing(length)
        targets[asked] = values
        return Example(tokens, targets)
