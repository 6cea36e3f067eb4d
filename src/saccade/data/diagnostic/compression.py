# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Compression: symbols, then a final token, whose state must contain all of them.

    b a c c >      the answers at the first four positions are b a c c

Poli et al. 2024, "Mechanistic Design and Scaling of Hybrid Architectures", section 3.1,
https://arxiv.org/abs/2403.17844. The answers must be read only from the last position (`task.reconstruction`,
`head.reconstructed`); a decoder would see each answer at its own position. MAD has 16 tokens and rows of 32, and also
counts the last position, which is always right. Chance is one in the number of symbols.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from saccade.data.diagnostic.generator import Example, nothing, whole_numbers
from saccade.data.uniform import Uniform
from saccade.types import Range

__all__ = ['Compression']


@dataclass(frozen=True, kw_only=True)
class Compression:
    """Compression. Attributes: symbols, number of distinct symbols."""

    symbols: Annotated[int, Range(least=2)] = 15

    version: ClassVar[int] = 1
    shortest: ClassVar[int] = 2

    @property
    def vocabulary(self) -> int:
        """Number of tokens: the symbols and the final token."""
        return self.symbols + 1

    def example(self, draw: Uniform, length: int) -> Example:
        """Return an example of this length."""
        symbols = whole_numbers(draw, self.symbols, length - 1)
        last = np.array([self.symbols], np.int32)
        return Example(np.concatenate([symbols, last]), np.concatenate([symbols, nothing(1)]))
