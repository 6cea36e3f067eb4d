# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Random numbers by Philox, equal in every release of NumPy, as a function of the row's index; and shapes painted onto
images.

Salmon et al. 2011, "Parallel Random Numbers: As Easy as 1, 2, 3", https://doi.org/10.1145/2063384.2063405: the
generator encrypts a counter, so row n does not depend on the rows before it.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from jaxtyping import Bool, UInt8

T = TypeVar('T')

_AT_ONCE = 64

# Indicator of each shape within a square, by row and column from -1 to 1.
SHAPES: Mapping[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    'circle': lambda y, x: x**2 + y**2 <= 1,
    'cross': lambda y, x: (np.abs(x) <= 0.34) | (np.abs(y) <= 0.34),
    'square': lambda y, x: np.abs(x) + 0 * y <= 1,
    'triangle': lambda y, x: 2 * np.abs(x) <= y + 1.2,
}


class Draws:
    """Random numbers of one row."""

    def __init__(self, seed: int, split: int, row: int) -> None:
        # The generator increments the first of the four counter words.
        self._philox = np.random.Philox(key=seed, counter=[0, split, row, 0])
        self._drawn: list[int] = []

    def below(self, number: int) -> int:
        """Draw one of 0, 1, ... number - 1; `number` must be far below 2^64."""
        if not self._drawn:
            self._drawn = self._philox.random_raw(_AT_ONCE).tolist()
        return self._drawn.pop() % number

    def between(self, least: int, most: int) -> int:
        """Draw a number from `least` to `most` (inclusive)."""
        return least + self.below(most + 1 - least)

    def of_a_doubling(self, least: int, most: int) -> int:
        """Draw a number from `least` to `most`, with the same chance for each doubling: 1, 2 to 3, 4 to 7, ..."""
        doublings = (most // least).bit_length()
        first = least << self.below(doublings)
        return self.between(first, min(2 * first - 1, most))

    def choice(self, items: Sequence[T]) -> T:
        """Draw one of the items."""
        return items[self.below(len(items))]

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """Draw `count` distinct items, in random order."""
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in range(count)]


@functools.cache
def shape_mask(shape: str, side: int) -> Bool[np.ndarray, 'side side']:
    """Return True for the pixels of a square of `side` pixels inside a shape of `SHAPES` that fills it."""
    along = (np.arange(side) + 0.5) * 2 / side - 1
    return SHAPES[shape](along[:, None], along)


def paint(
    pixels: UInt8[np.ndarray, 'rows columns 3'], shape: str, side: int, place: tuple[int, int], colour: Sequence[int]
) -> None:
    """Paint a shape onto an image in place, in a square of `side` pixels whose top left corner is at `place`."""
    row, column = place
    pixels[row : row + side, column : column + side][shape_mask(shape, side)] = colour
