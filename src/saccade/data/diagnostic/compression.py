# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Compression: symbols, then a token at which a model must hold all of them.

    b a c c >      the answers at the first four places are b a c c

Poli et al. 2024, "Mechanistic Design and Scaling of Hybrid Architectures", section 3.1, https://arxiv.org/abs/2403.17844.
It asks something where the answers are read off the last place alone (`task.reconstruction`, `head.reconstructed`); a
decoder would see each answer where it is asked for. MAD has 16 tokens and rows of 32, and counts the last place too,
which is always right. Chance is one in the symbols.
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
    """Compression. Attributes: symbols, how many there are."""

    symbols: Annotated[int, Range(least=2)] = 15

    version: ClassVar[int] = 1
    shortest: ClassVar[int] = 2

    @property
    def vocabulary(self) -> int:
        """The symbols, and the last token."""
        return self.symbols + 1

    def example(self, draw: Uniform, length: int) -> Example:
        """Make an example of this length."""
        symbols = whole_numbers(draw, self.symbols, length - 1)
        last = np.array([self.symbols], np.int32)
        return Example(np.concatenate([symbols, last]), np.concatenate([symbols, nothing(1)]))
