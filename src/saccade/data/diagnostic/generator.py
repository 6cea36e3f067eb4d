# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Generator of examples, the protocol, and how they are drawn."""

from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int

from saccade.data.uniform import Uniform
from saccade.types import IGNORED, UserError


class Example(NamedTuple):
    """Example. Attributes: tokens; targets, the answer that is asked for at each token, IGNORED where none is."""

    tokens: Int[np.ndarray, 'T']
    targets: Int[np.ndarray, 'T']


@runtime_checkable
class Generator(Protocol):
    """Protocol of a generator of examples.

    Attributes:
        version: another number wherever the same draws make another example.
        vocabulary: tokens are 0 to vocabulary - 1, and so are targets.
        shortest: tokens of an example at least.
    """

    version: ClassVar[int]

    @property
    def vocabulary(self) -> int: ...

    @property
    def shortest(self) -> int: ...

    def example(self, draw: Uniform, length: int) -> Example:
        """Make an example of as many tokens as fit into a length, which is at least `shortest`."""
        ...


def whole_numbers(draw: Uniform, below: int, count: int) -> Int[np.ndarray, '_']:
    """Draw so many of 0, 1, ... below a number."""
    return (draw(count) * below).astype(np.int32)


def distinct(draw: Uniform, below: int, count: int) -> Int[np.ndarray, '_']:
    """Draw so many different ones of 0, 1, ... below a number, in an order that is drawn too.

    Floyd's algorithm (Bentley, Floyd 1987, "A Sample of Brilliance", https://doi.org/10.1145/30401.315746): it takes as
    many steps as numbers are drawn, however many there are.
    """
    chosen: dict[int, None] = {}
    for most, share in zip(range(below - count, below), draw(count), strict=True):
        number = int(share * (most + 1))
        chosen[most if number in chosen else number] = None
    return np.array(list(chosen), np.int32)[np.argsort(draw(count))]


def nothing(count: int) -> Int[np.ndarray, '_']:
    """Targets of so many tokens at which nothing is asked."""
    return np.full(count, IGNORED, np.int32)


def require_at_least(least: int, **numbers: int) -> None:
    """Refuse a field of a generator below a number.

    Raises:
        UserError: it is.
    """
    for name, number in numbers.items():
        if number < least:
            raise UserError(f'data.generator.{name}: must be {least} or more, not {number}')
