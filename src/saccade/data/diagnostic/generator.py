# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Protocol of a generator of examples, and its random numbers."""

from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int

from saccade.data.uniform import Uniform
from saccade.types import IGNORED, UserError


class Example(NamedTuple):
    """Example. Attributes: tokens; targets, the answer at each token, IGNORED for none."""

    tokens: Int[np.ndarray, 'T']
    targets: Int[np.ndarray, 'T']


@runtime_checkable
class ExampleGenerator(Protocol):
    """Protocol of a generator of examples.

    Attributes:
        version: must change when the same draws give another example.
        vocabulary: number of tokens; tokens and targets are from 0 to vocabulary - 1.
        shortest: minimum length of an example.
    """

    version: ClassVar[int]

    @property
    def vocabulary(self) -> int: ...

    @property
    def shortest(self) -> int: ...

    def example(self, draw: Uniform, length: int) -> Example:
        """Return an example of the maximum possible length up to `length`, which is at least `shortest`."""
        ...


def whole_numbers(draw: Uniform, below: int, count: int) -> Int[np.ndarray, '_']:
    """Draw `count` of the numbers 0, 1, ... below - 1, with replacement."""
    return (draw(count) * below).astype(np.int32)


def distinct(draw: Uniform, below: int, count: int) -> Int[np.ndarray, '_']:
    """Draw `count` distinct numbers of 0, 1, ... below - 1, in random order.

    Floyd's algorithm (Bentley, Floyd 1987, "A Sample of Brilliance", https://doi.org/10.1145/30401.315746): the number
    of steps depends on `count`, not on `below`.
    """
    chosen: dict[int, None] = {}
    for most, share in zip(range(below - count, below), draw(count), strict=True):
        number = int(share * (most + 1))
        chosen[most if number in chosen else number] = None
    return np.array(list(chosen), np.int32)[np.argsort(draw(count))]


def nothing(count: int) -> Int[np.ndarray, '_']:
    """Return IGNORED targets for `count` tokens."""
    return np.full(count, IGNORED, np.int32)


def require_at_least(least: int, **numbers: int) -> None:
    """Check that fields of a generator have a minimum value.

    Raises:
        UserError: a field is below it.
    """
    for name, number in numbers.items():
        if number < least:
            raise UserError(f'data.generator.{name}: must be {least} or more, not {number}')
