# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Generated questions about generated pictures: the colour of one of two equal shapes, given its relative place.

    picture    four coloured shapes, two each of two kinds, in random cells of a grid
    question   What colour is the circle on the left?
    context    sky blue, violet, brick red ...     all colours, in random order
    answer     the colour's words in the context

The answer requires a comparison of the places of both circles. Colours have one or two words. Colours and cells of the
shapes are drawn independently, so the best accuracies without part of the input are known:

    1 / 6    without the picture: the question and the context are independent of the colour
    1 / 2    without the places of the patches: either circle may be the one on the left

Goyal et al. 2017, "Making the V in VQA Matter", https://arxiv.org/abs/1612.00837, on answers that need no picture; the
scenes are simpler than in Johnson et al. 2017, "CLEVR", https://arxiv.org/abs/1612.06890. Nothing is downloaded.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from saccade.data.cache import digest
from saccade.data.corpus.question import Answer, Question
from saccade.data.image.question_base import ImageInquiry, ImageQuestionsBase
from saccade.data.image.rows import of_array
from saccade.data.synthetic.drawing import SHAPES, Draws, paint
from saccade.types import Count, UserError

__all__ = ['VisualQuestions']

_SPLITS = 'train', 'validation'
COLOURS = {
    'black': (0, 0, 0),
    'brick red': (200, 40, 40),
    'forest green': (20, 120, 40),
    'orange': (255, 150, 0),
    'sky blue': (90, 180, 255),
    'violet': (130, 50, 220),
}
SIDES = {'at the top': (0, -1), 'at the bottom': (0, 1), 'on the left': (1, -1), 'on the right': (1, 1)}  # axis, sign
_WORDINGS = 'What colour is the {shape} {side}?', 'Which colour has the {shape} {side}?'
_KINDS = 2  # kinds of shapes in a picture, two of each
_MARGIN = 1  # pixels of a cell around its shape
_WHITE = 255

Cell = tuple[int, int]


@dataclass(frozen=True)
class Scene:
    """Generated picture: shapes in cells of a grid. Attributes: shapes, cells and colours."""

    shapes: Sequence[str]
    cells: Sequence[Cell]
    colours: Sequence[str]


@dataclass(frozen=True, eq=False)
class DrawnImages:
    """Images of scenes, painted on demand.

    Attributes: grid, number of rows and columns of cells; cell, its side in pixels.
    """

    scenes: Sequence[Scene]
    name: str
    grid: int
    cell: int

    def __len__(self) -> int:
        return len(self.scenes)

    def __getitem__(self, index: int) -> Image.Image:
        scene = self.scenes[index]
        pixels = np.full((self.grid * self.cell, self.grid * self.cell, 3), _WHITE, np.uint8)
        for shape, (row, column), colour in zip(scene.shapes, scene.cells, scene.colours, strict=True):
            place = self.cell * row + _MARGIN, self.cell * column + _MARGIN
            paint(pixels, shape, self.cell - 2 * _MARGIN, place, COLOURS[colour])
        return of_array(pixels)

    def place(self, index: int) -> str:
        """Return the place of an image, for messages."""
        return f'{self.name}[{index}]'


@dataclass(frozen=True, kw_only=True)
class VisualQuestions(ImageQuestionsBase):
    """Generated questions about generated pictures.

    Attributes:
        grid: number of rows and columns of cells.
        cell: side of a cell in pixels; the processor's images must have grid * cell rows and columns.
        train, validation: number of questions per split, each about its own picture.
        seed: random seed.
    """

    grid: Count = 3
    cell: Count = 8
    train: Count = 20_000
    validation: Count = 500
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.grid < 2 or self.cell <= 2 * _MARGIN:
            raise UserError(
                f'data: grid {self.grid} must be at least 2, and cell {self.cell} more than {2 * _MARGIN} pixels'
            )
        side = self.grid * self.cell
        if self.images().shape != (side, side, 3):
            raise UserError(
                f'data.images: {self.grid} by {self.grid} cells of {self.cell} pixels need images of size '
                f'[{side}, {side}] with 3 channels, not {list(self.images().shape)}'
            )

    def _open(self, cache: Path) -> ImageInquiry:
        made = {name: [self._drawn(name, row) for row in range(getattr(self, name))] for name in _SPLITS}
        key = 'visual questions 1', self.grid, self.train, self.validation, self.seed
        return ImageInquiry(
            {name: [question for question, _ in pairs] for name, pairs in made.items()},
            digest(*key),
            images={
                name: DrawnImages([scene for _, scene in pairs], name, self.grid, self.cell)
                for name, pairs in made.items()
            },
        )

    def _drawn(self, split: str, row: int) -> tuple[Question, Scene]:
        """Draw a picture, and a question about the outermost of two equal shapes towards a side."""
        draws = Draws(self.seed, _SPLITS.index(split), row)
        shapes = 2 * draws.sample(list(SHAPES), _KINDS)
        colours = draws.sample(list(COLOURS), len(shapes))
        asked: list[tuple[int, str]] = []
        while not asked:
            cells = draws.sample(list(itertools.product(range(self.grid), repeat=2)), len(shapes))
            asked = outermost(shapes, cells)
        number, side = draws.choice(asked)
        question = draws.choice(_WORDINGS).format(shape=shapes[number], side=side)
        listed = draws.sample(list(COLOURS), len(COLOURS))
        before = listed[: listed.index(colours[number])]
        found = Answer(colours[number], sum(len(colour) + len(', ') for colour in before))
        name = f'{split}[{row}]'
        return Question(name, '', question, ', '.join(listed), (found,)), Scene(shapes, cells, colours)


def outermost(shapes: Sequence[str], cells: Sequence[Cell]) -> list[tuple[int, str]]:
    """Return each shape that is further towards a side than all others of its kind, and that side."""
    return [
        (number, side)
        for number, shape in enumerate(shapes)
        for side, (axis, sign) in SIDES.items()
        if all(
            sign * cells[number][axis] > sign * cell[axis]
            for other, cell in enumerate(cells)
            if other != number and shapes[other] == shape
        )
    ]
