# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Random numbers by Philox, the same in every release of NumPy: those of a row are a function of its number. And shapes
that are painted onto images.

Salmon et al. 2011, "Parallel Random Numbers: As Easy as 1, 2, 3", https://doi.org/10.1145/2063384.2063405: a counter
is enciphered, so that row n needs none of the rows before it.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from jaxtyping import Bool, UInt8

T = TypeVar('T')

_AT_ONCE = 64

# Which points of a square belong to a shape, by their row and column, from -1 to 1.
SHAPES: Mapping[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    'circle': lambda y, x: x**2 + y**2 <= 1,
    'cross': lambda y, x: (np.abs(x) <= 0.34) | (np.abs(y) <= 0.34),
    'square': lambda y, x: np.abs(x) + 0 * y <= 1,
    'triangle': lambda y, x: 2 * np.abs(x) <= y + 1.2,
}


class Draws:
    """Random numbers of one row."""

    def __init__(self, seed: int, split: int, row: int) -> None:
        # The generator counts in the first of the four words.
        self._philox = np.random.Philox(key=seed, counter=[0, split, row, 0])
        self._drawn: list[int] = []

    def below(self, number: int) -> int:
        """Draw one of 0, 1, ... below a number, which is far below 2^64."""
        if not self._drawn:
            self._drawn = self._philox.random_raw(_AT_ONCE).tolist()
        return self._drawn.pop() % number

    def between(self, least: int, most: int) -> int:
        """Draw a number from the least to the most."""
        return least + self.below(most + 1 - least)

    def choice(self, items: Sequence[T]) -> T:
        """Draw one of some things."""
        return items[self.below(len(items))]

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """Draw so many different ones, in an order that is drawn too."""
        left = list(items)
        return [left.pop(self.below(len(left))) for _ in range(count)]


@functools.cache
def shape_mask(shape: str, side: int) -> Bool[np.ndarray, 'side side']:
    """Return which pixels of a square of so many pixels belong to a shape, one of `SHAPES`, that fills it."""
    along = (np.arange(side) + 0.5) * 2 / side - 1
    return SHAPES[shape](along[:, None], along)


def paint(
    pixels: UInt8[np.ndarray, 'rows columns 3'], shape: str, side: int, place: tuple[int, int], colour: Sequence[int]
) -> None:
    """Paint a shape onto an image, in place: its square, of so many pixels, begins at a row and a column."""
    row, column = place
    pixels[row : row + side, column : column + side][shape_mask(shape, side)] = colour
