# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Word problems of finite groups (state tracking): the running product of the elements at each position.

    target_t = x_1 x_2 ... x_t

Merrill, Petty, Sabharwal 2024, "The Illusion of State in State-Space Models", section 5,
https://arxiv.org/abs/2404.08819. Parity is the problem of the cyclic group of order 2. The problem of the symmetric
group of degree 5 is NC¹-complete: neither Transformers nor linear recurrences with diagonal transitions solve it at
every length. Negative eigenvalues let a linear recurrence compute parity (Grazzi et al. 2024, "Unlocking State-Tracking
in Linear RNNs Through Negative Eigenvalues", https://arxiv.org/abs/2411.12537), and several updates per token let it
compute permutations (Siems et al. 2025, "DeltaProduct", https://arxiv.org/abs/2502.10297). Chance is one in the number
of elements.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar

import numpy as np
from jaxtyping import Int

from saccade.data.diagnostic.generator import Example, whole_numbers
from saccade.data.uniform import Uniform
from saccade.types import Part, Range

__all__ = ['WordProblem', 'alternating', 'cyclic', 'symmetric']

Product = Int[np.ndarray, 'elements elements']  # multiplication table of element indices; 0 is the identity


def cyclic(order: Annotated[int, Range(least=2)]) -> Product:
    """Return the products of the cyclic group: additions modulo its order."""
    return np.add.outer(np.arange(order), np.arange(order)) % order


def symmetric(degree: Annotated[int, Range(least=2)]) -> Product:
    """Return the products of all permutations of so many things."""
    return _products(list(itertools.permutations(range(degree))))


def alternating(degree: Annotated[int, Range(least=3)]) -> Product:
    """Return the products of the even permutations of so many things."""
    return _products([each for each in itertools.permutations(range(degree)) if _is_even(each)])


@dataclass(frozen=True, kw_only=True)
class WordProblem:
    """Word problem. Attributes: group, a function that returns its table, such as `symmetric` with a degree of 3."""

    group: Part

    version: ClassVar[int] = 1
    shortest: ClassVar[int] = 1

    @property
    def vocabulary(self) -> int:
        """Number of elements."""
        return len(self._products)

    def example(self, draw: Uniform, length: int) -> Example:
        """Return an example of this length."""
        tokens = whole_numbers(draw, self.vocabulary, length)
        targets = list(itertools.accumulate(tokens.tolist(), lambda state, token: int(self._products[state, token])))
        return Example(tokens, np.array(targets, np.int32))

    @cached_property
    def _products(self) -> Product:
        return self.group()


def _products(permutations: Sequence[tuple[int, ...]]) -> Product:
    """Return the table of the composition: the first permutation, then the second."""
    number = {each: index for index, each in enumerate(permutations)}
    return np.array(
        [[number[tuple(second[place] for place in first)] for second in permutations] for first in permutations]
    )


def _is_even(permutation: tuple[int, ...]) -> bool:
    return sum(first > second for first, second in itertools.combinations(permutation, 2)) % 2 == 0
