# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Memorization: a fixed mapping of keys to values for all examples, to be stored in the weights.

    k3 ? k1 ? k3 ? ...      the answer at each ? is the value of the key before it

Poli et al. 2024, "Mechanistic Design and Scaling of Hybrid Architectures", section 3.1,
https://arxiv.org/abs/2403.17844.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from saccade.data.diagnostic.generator import Example, nothing, whole_numbers
from saccade.data.uniform import Uniform, uniform
from saccade.types import CountOrZero, Range

__all__ = ['Memorization']


@dataclass(frozen=True, kw_only=True)
class Memorization:
    """Memorization. Attributes: keys, their number, each with its own value; mapping, random seed of the mapping."""

    keys: Annotated[int, Range(least=2)] = 127
    mapping: CountOrZero = 12345

    version: ClassVar[int] = 1
    shortest: ClassVar[int] = 2

    @property
    def vocabulary(self) -> int:
        """Number of tokens: keys, values and ?."""
        return 2 * self.keys + 1

    def example(self, draw: Uniform, length: int) -> Example:
        """Return an example of this length, or one less if it is odd."""
        keys = whole_numbers(draw, self.keys, length // 2)
        values = self.keys + np.argsort(uniform(self.mapping)(self.keys)).astype(np.int32)
        asked = np.full(len(keys), 2 * self.keys, np.int32)
        targets = np.stack([nothing(len(keys)), values[keys]], axis=-1)
        return Example(np.stack([keys, asked], axis=-1).ravel(), targets.ravel())
