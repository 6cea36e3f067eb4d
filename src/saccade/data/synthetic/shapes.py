# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Generated pictures of shapes with captions: colour, shape, size, place and relation; some combinations are held out.

    a large red circle at the top left          a green square left of a blue triangle

Nothing is downloaded. In training, circles are never red, squares never green, triangles never blue and crosses never
yellow. Each picture of the split `unseen` has one of these combinations, so a model that memorises pairs of words fails
there, and one that composes them does not. Held-out captions are complete and distinct; in training a size or a place
is omitted a quarter of the time. Row n is a function of n, its split and the seed.
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
RELATIONS = {'left of': (16, 8), 'right of': (16, 24), 'above': (8, 16), 'below': (24, 16)}  # place of the first shape
UNSEEN = {'circle': 'red', 'square': 'green', 'triangle': 'blue', 'cross': 'yellow'}
_BESIDE = (3, 4, 5)  # radii in pictures of two shapes
_PAIRED = 0.5  # fraction of pictures with two shapes
_LEFT_OUT = 4  # one in this number of sizes, and of places, is omitted from a training caption
_VERSION = 1  # increase it when the same draws give another picture or caption


class DrawnShape(NamedTuple):
    """Drawn shape. Attributes: colour and shape, by name; centre (row, column) and radius, in pixels."""

    colour: str
    shape: str
    centre: tuple[int, int]
    radius: int

    @property
    def name(self) -> str:
        """Name of the shape in a caption."""
        return f'a {self.colour} {self.shape}'


class ShapePicture(NamedTuple):
    """Picture. Attributes: shapes; caption; background, its brightness from 0 to 255."""

    shapes: tuple[DrawnShape, ...]
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
    """Pictures of a split, painted on demand. Attributes: pictures; name of the split."""

    pictures: Sequence[ShapePicture]
    name: str

    def __len__(self) -> int:
        return len(self.pictures)

    def __getitem__(self, index: int) -> Image.Image:
        return of_array(self.pictures[index].pixels())

    def place(self, index: int) -> str:
        """Return the place of a picture, for messages."""
        return f'{self.name}[{index}]'


@dataclass(frozen=True, kw_only=True)
class Shapes(CaptionedBase):
    """Generated pictures of shapes with captions.

    Attributes:
        train, validation, unseen: number of pictures per split.
        seed: random seed.
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


def picture(draws: Draws, *, unseen: bool, full: bool) -> ShapePicture:
    """Return a random picture.

    Args:
        unseen: give the first shape its held-out colour.
        full: always include size and place in the caption of a single shape.
    """
    first, background = _shape(draws, unseen), draws.below(60)
    if draws.below(100) < 100 * _PAIRED:
        second, relation = _shape(draws, False), draws.choice(tuple(RELATIONS))
        while second == first:
            second = _shape(draws, False)
        row, column = RELATIONS[relation]
        one = DrawnShape(*first, _near(draws, (row, column)), draws.choice(_BESIDE))
        other = DrawnShape(*second, _near(draws, (SIDE - row, SIDE - column)), draws.choice(_BESIDE))
        return ShapePicture((one, other), f'{one.name} {relation} {other.name}', background)
    size, place = draws.choice(tuple(RADII)), draws.choice(tuple(PLACES))
    one = DrawnShape(*first, _near(draws, PLACES[place]), RADII[size])
    said_size, said_place = (full or draws.below(_LEFT_OUT) > 0 for _ in range(2))
    caption = one.name.replace('a ', f'a {size} ', 1) if said_size else one.name
    return ShapePicture((one,), f'{caption} at the {place}' if said_place else caption, background)


def different(seed: int, split: int, count: int, unseen: bool) -> list[ShapePicture]:
    """Return pictures with distinct, complete captions."""
    found: dict[str, ShapePicture] = {}
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
    """Draw a point at most one pixel away along each axis."""
    row, column = centre
    return row + draws.between(-1, 1), column + draws.between(-1, 1)


def _split(pictures: Sequence[ShapePicture], name: str) -> CaptionedImages:
    """Return a split; pictures of a single shape have its colour and shape as their class."""
    names = tuple(f'a {colour} {shape}' for shape in SHAPES for colour in COLOURS)
    labels = [names.index(each.shapes[0].name) if len(each.shapes) == 1 else IGNORED for each in pictures]
    captions = [each.caption for each in pictures]
    return CaptionedImages(Pictures(pictures, name), captions, names, np.array(labels, np.int32))
