# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Generated questions about drawn pictures: of two shapes of one kind, what colour is the one on the left?

    picture    four coloured shapes, two of each of two kinds, in cells of a grid that are drawn
    question   What colour is the circle on the left?
    context    sky blue, violet, brick red ...     every colour there is, in an order that is drawn
    answer     the colour's words in the context

Who answers must find both circles and compare their places. Colours are one word or two. Which thing has which colour
and which cell is drawn independently of everything else, so the best chance of an exact match is known:

    1 / 6    without the picture: the question and the context do not say which of the 6 colours it is
    1 / 2    without the places of the patches: either circle may be the one on the left

Goyal et al. 2017, "Making the V in VQA Matter", https://arxiv.org/abs/1612.00837, on answers that need no picture; the
scenes are simpler ones than those of Johnson et al. 2017, "CLEVR", https://arxiv.org/abs/1612.06890. Nothing is
downloaded.
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
_KINDS = 2  # of shapes in a picture, each of which is there twice
_MARGIN = 1  # pixels of a cell around its shape
_WHITE = 255

Cell = tuple[int, int]


@dataclass(frozen=True)
class Scene:
    """Drawn picture: things in cells of a grid. Attributes: shapes, cells and colours of the things."""

    shapes: Sequence[str]
    cells: Sequence[Cell]
    colours: Sequence[str]


@dataclass(frozen=True, eq=False)
class DrawnImages:
    """Images of scenes, painted when they are asked for.

    Attributes: grid, rows and columns of cells; cell, side of one in pixels.
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
        """The number of an image."""
        return f'{self.name}[{index}]'


@dataclass(frozen=True, kw_only=True)
class VisualQuestions(ImageQuestionsBase):
    """Generated questions about drawn pictures.

    Attributes:
        grid: rows and columns of cells.
        cell: side of a cell, in pixels; the images of the processor have grid cell rows and columns of pixels.
        train, validation: questions drawn for each split, each about a picture of its own.
        seed: another one makes other questions.
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
                f'data: grid, {self.grid}, must be at least 2, and cell, {self.cell}, more than {2 * _MARGIN} pixels'
            )
        side = self.grid * self.cell
        if self.images().shape != (side, side, 3):
            raise UserError(
                f'data.images: {self.grid} by {self.grid} cells of {self.cell} pixels are images of size '
                f'[{side}, {side}] with 3 channels, not of {list(self.images().shape)}'
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
        """Draw a picture, and ask for that of two like shapes which is further towards a side."""
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
    """Return each thing that is further than all others of its shape towards a side, and that side."""
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
