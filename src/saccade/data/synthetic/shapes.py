# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Drawn shapes with captions: colour, shape, size, place and relation; some colours never stand with some shapes.

    a large red circle at the top left          a green square left of a blue triangle

Nothing is downloaded. Circles are never red in training, squares never green, triangles never blue and crosses never
yellow: the split `unseen` has a picture of one of these in each row, so that a model which learns pairs of words by
heart fails there, and one which composes them does not. Held-out captions are full ones, each once; in training a
size and a place are left out a quarter of the time. Row n is a function of n, of its split and of the seed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from saccade.data.cache import digest
from saccade.data.caption.captioned_base import CaptionedBase, CaptionedImages
from saccade.data.image.processor import ImageProcessor
from saccade.data.image.rows import of_array
from saccade.data.synthetic.drawing import SHAPES, Draws, paint
from saccade.types import IGNORED, Count, CountOrZero, Part

__all__ = ['Shapes']

SIDE = 32  # pixels
COLOURS = {
    'red': (220, 40, 40),
    'green': (40, 180, 60),
    'blue': (50, 80, 220),
    'yellow': (230, 210, 50),
    'purple': (150, 60, 180),
    'white': (235, 235, 235),
}
RADII = {'small': 2, 'medium': 4, 'large': 6}  # pixels
_ROWS, _COLUMNS = {'top': 8, 'middle': 16, 'bottom': 24}, {'left': 8, 'middle': 16, 'right': 24}
PLACES = {f'{row} {column}': (y, x) for row, y in _ROWS.items() for column, x in _COLUMNS.items()}
RELATIONS = {'left of': (16, 8), 'right of': (16, 24), 'above': (8, 16), 'below': (24, 16)}  # where the first stands
UNSEEN = {'circle': 'red', 'square': 'green', 'triangle': 'blue', 'cross': 'yellow'}
_BESIDE = (3, 4, 5)  # radii of two shapes in one picture
_PAIRED = 0.5  # share of pictures with two shapes
_LEFT_OUT = 4  # one of so many sizes, and of places, is not in a caption of training
_VERSION = 1  # another number wherever the same draws make another picture or caption


class Drawn(NamedTuple):
    """Drawn shape. Attributes: colour, shape, by name; its centre, row and column, and radius, in pixels."""

    colour: str
    shape: str
    centre: tuple[int, int]
    radius: int

    @property
    def name(self) -> str:
        """What it is called."""
        return f'a {self.colour} {self.shape}'


class Picture(NamedTuple):
    """Picture: its shapes, its caption, and the brightness of its background, from 0 to 255."""

    shapes: tuple[Drawn, ...]
    caption: str
    background: int

    def pixels(self) -> np.ndarray:
        """Return the picture, [rows, columns, 3] of 8 bits."""
        pixels = np.full((SIDE, SIDE, 3), self.background, np.uint8)
        for shape in self.shapes:
            row, column = (centre - shape.radius for centre in shape.centre)
            paint(pixels, shape.shape, 2 * shape.radius + 1, (row, column), COLOURS[shape.colour])
        return pixels


@dataclass(frozen=True, eq=False)
class Pictures:
    """Pictures of a split, drawn when they are asked for. Attributes: pictures; name of the split."""

    pictures: Sequence[Picture]
    name: str

    def __len__(self) -> int:
        return len(self.pictures)

    def __getitem__(self, index: int) -> Image.Image:
        return of_array(self.pictures[index].pixels())

    def place(self, index: int) -> str:
        """The number of a picture."""
        return f'{self.name}[{index}]'


@dataclass(frozen=True, kw_only=True)
class Shapes(CaptionedBase):
    """Drawn shapes with captions.

    Attributes:
        train, validation, unseen: pictures of each split.
        seed: another one makes other pictures.
    """

    images: Part[ImageProcessor] = Part(  # noqa: RUF009, it is frozen; it scales and converts images of one's own
        ImageProcessor, (('convert', True), ('resize', (SIDE, SIDE)), ('size', (SIDE, SIDE)))
    )
    train: Count = 10_000
    validation: Count = 200
    unseen: Count = 200
    seed: CountOrZero = 0

    def _captioned(self, cache: Path) -> tuple[Mapping[str, CaptionedImages], str]:
        sizes = self.train, self.validation, self.unseen
        splits = {
            'train': [picture(Draws(self.seed, 0, row), unseen=False, full=False) for row in range(self.train)],
            'validation': different(self.seed, 1, self.validation, unseen=False),
            'unseen': different(self.seed, 2, self.unseen, unseen=True),
        }
        return {name: _split(found, name) for name, found in splits.items()}, digest(_VERSION, sizes, self.seed)


def picture(draws: Draws, *, unseen: bool, full: bool) -> Picture:
    """Draw a picture.

    Args:
        unseen: whether its first shape has the colour that training never shows it in.
        full: whether the caption of a shape alone says its size and its place.
    """
    first, background = _shape(draws, unseen), draws.below(60)
    if draws.below(100) < 100 * _PAIRED:
        second, relation = _shape(draws, False), draws.choice(tuple(RELATIONS))
        while second == first:
            second = _shape(draws, False)
        row, column = RELATIONS[relation]
        one = Drawn(*first, _near(draws, (row, column)), draws.choice(_BESIDE))
        other = Drawn(*second, _near(draws, (SIDE - row, SIDE - column)), draws.choice(_BESIDE))
        return Picture((one, other), f'{one.name} {relation} {other.name}', background)
    size, place = draws.choice(tuple(RADII)), draws.choice(tuple(PLACES))
    one = Drawn(*first, _near(draws, PLACES[place]), RADII[size])
    said_size, said_place = (full or draws.below(_LEFT_OUT) > 0 for _ in range(2))
    caption = one.name.replace('a ', f'a {size} ', 1) if said_size else one.name
    return Picture((one,), f'{caption} at the {place}' if said_place else caption, background)


def different(seed: int, split: int, count: int, unseen: bool) -> list[Picture]:
    """Draw pictures whose captions are full and all different."""
    found: dict[str, Picture] = {}
    for row in range(count):
        draws = Draws(seed, split, row)
        while len(found) == row:
            drawn = picture(draws, unseen=unseen, full=True)
            found.setdefault(drawn.caption, drawn)
    return [*found.values()]


def _shape(draws: Draws, unseen: bool) -> tuple[str, str]:
    """Draw a colour and a shape."""
    shape = draws.choice(tuple(SHAPES))
    return (UNSEEN[shape] if unseen else draws.choice([each for each in COLOURS if each != UNSEEN[shape]])), shape


def _near(draws: Draws, centre: tuple[int, int]) -> tuple[int, int]:
    """Draw a point near another, a pixel away at most along each axis."""
    row, column = centre
    return row + draws.between(-1, 1), column + draws.between(-1, 1)


def _split(pictures: Sequence[Picture], name: str) -> CaptionedImages:
    """A split, of which the pictures of one shape have a class: its colour and shape."""
    names = tuple(f'a {colour} {shape}' for shape in SHAPES for colour in COLOURS)
    labels = [names.index(each.shapes[0].name) if len(each.shapes) == 1 else IGNORED for each in pictures]
    captions = [each.caption for each in pictures]
    return CaptionedImages(Pictures(pictures, name), captions, names, np.array(labels, np.int32))
