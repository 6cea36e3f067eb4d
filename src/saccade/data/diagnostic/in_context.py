# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""In-context recall, also with noise and with keys of several tokens: three tasks of MAD.

    k3 v7 k1 v2 k3 [v7]      the answer at a repeated key is its value

Poli et al. 2024, "Mechanistic Design and Scaling of Hybrid Architectures", section 3.1,
https://arxiv.org/abs/2403.17844. The values of keys differ between examples. MAD trains on every next token; here only
answers are trained on, as only they are measured there.
"""

import itertools
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from saccade.data.diagnostic.generator import Example, distinct, nothing, require_at_least, whole_numbers
from saccade.data.uniform import Uniform
from saccade.types import IGNORED, Count, CountOrZero, Share, UserError

__all__ = ['FuzzyRecall', 'InContextRecall']


@dataclass(frozen=True, kw_only=True)
class InContextRecall:
    """In-context recall. Noisy in-context recall has `noise=16` and `noise_share=0.2`.

    Attributes:
        keys, values: number of each; 8 in MAD.
        noise: number of other tokens.
        noise_share: fraction of pairs that are two tokens of noise.
    """

    keys: Count = 8
    values: Count = 8
    noise: CountOrZero = 0
    noise_share: Share = 0.0

    version: ClassVar[int] = 1
    shortest: ClassVar[int] = 4

    def __post_init__(self) -> None:
        if self.noise_share and not self.noise:
            raise UserError(f'data.generator.noise: noise_share is {self.noise_share}; set the number of noise tokens')

    @property
    def vocabulary(self) -> int:
        """Number of tokens: keys, values and noise."""
        return self.keys + self.values + self.noise

    def example(self, draw: Uniform, length: int) -> Example:
        """Return an example of this length, or one less if it is odd."""
        pairs = length // 2
        values = self.keys + whole_numbers(draw, self.values, self.keys)
        keys = whole_numbers(draw, self.keys, pairs)
        keys[-1] = keys[int(draw(1)[0] * (pairs - 1))]  # at least one answer
        noisy = draw(pairs) < self.noise_share
        noisy[[np.argmax(keys == keys[-1]), -1]] = False
        tokens = np.stack([keys, values[keys]], axis=-1)
        tokens[noisy] = self.keys + self.values + whole_numbers(draw, self.noise, 2 * pairs).reshape(-1, 2)[noisy]
        _, first, which = np.unique(tokens[:, 0], return_index=True, return_inverse=True)
        seen = first[which] < np.arange(pairs)
        targets = np.stack([np.where(seen & ~noisy, tokens[:, 1], nothing(pairs)), nothing(pairs)], axis=-1)
        return Example(tokens.ravel(), targets.ravel())


@dataclass(frozen=True, kw_only=True)
class FuzzyRecall:
    """Fuzzy in-context recall: keys and values have 1 to `longest` tokens, and differ only in their order.

    Attributes:
        keys, values: number of tokens they consist of; 7 in MAD.
        longest: maximum number of tokens of a key or a value.
        motifs: number of keys in an example.
    """

    keys: Count = 7
    values: Count = 7
    longest: Count = 3
    motifs: Count = 6

    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        require_at_least(self.longest, keys=self.keys, values=self.values)

    @property
    def vocabulary(self) -> int:
        """Number of tokens: a blank, keys and values."""
        return 1 + self.keys + self.values

    @property
    def shortest(self) -> int:
        """Minimum length: the longest pair, twice."""
        return 4 * self.longest

    def example(self, draw: Uniform, length: int) -> Example:
        """Return an example of this length, with leading blanks where no pair fits."""
        motifs = [
            (self._motif(draw, 1, self.keys), self._motif(draw, 1 + self.keys, self.values)) for _ in range(self.motifs)
        ]
        values = dict(motifs)
        keys = [motifs[number][0] for number in whole_numbers(draw, self.motifs, length)]
        last = keys[0]  # repeat the first key, so that there is an answer
        ends = itertools.accumulate(len(key) + len(values[key]) for key in keys)
        shown = [key for key, end in zip(keys, ends, strict=True) if end + len(last) + len(values[last]) <= length]
        tokens: list[int] = []
        targets: list[int] = []
        for place, key in enumerate([*shown, last]):
            value = values[key]
            asked = value if key in shown[:place] else len(value) * [IGNORED]
            tokens += [*key, *value]
            targets += [*(len(key) - 1) * [IGNORED], *asked, IGNORED]  # a token is the answer at the previous position
        blanks = length - len(tokens)
        return Example(np.array(blanks * [0] + tokens, np.int32), np.array(blanks * [IGNORED] + targets, np.int32))

    def _motif(self, draw: Uniform, first: int, tokens: int) -> tuple[int, ...]:
        """Draw a motif of tokens numbered from `first`."""
        return tuple((first + distinct(draw, tokens, 1 + int(draw(1)[0] * self.longest))).tolist())
