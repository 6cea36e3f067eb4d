# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sets of coloured points: which colour has the point that is asked for?

    a point: (x, one-hot colour, 0);   the one that asks: (the x of one of them, 0, 1)

The answer takes a comparison of the one that asks with every point, which is what attention does. Members have no
order, so the model has no positions: Lee et al. 2019, "Set Transformer", https://arxiv.org/abs/1810.00825. Nothing is
downloaded.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from saccade.data.frames.labelled_base import LabelledFrames, LabelledFramesBase, Uniform
from saccade.types import Count, UserError

__all__ = ['ColouredPoints']

COLOURS = 'blue', 'green', 'red', 'yellow'


@dataclass(frozen=True, kw_only=True)
class ColouredPoints(LabelledFramesBase):
    """Sets of coloured points, with one member that asks for the colour of a point.

    Attributes:
        context_length: members of the largest set, the one that asks among them.
        fewest: members of the smallest set.
        dimensions: of a point; each of its numbers is -1 or 1, and no two points of a set are the same.
        train, validation: sets drawn for each split.
    """

    fewest: Count = 8
    dimensions: Count = 6
    train: Count = 8000

    classes: ClassVar[int] = len(COLOURS)
    names: ClassVar[tuple[str, ...]] = COLOURS

    def __post_init__(self) -> None:
        if not 2 <= self.fewest <= self.context_length:
            raise UserError(
                f'data.fewest: {self.fewest} must be at least 2, and at most data.context_length, {self.context_length}'
            )
        if 2**self.dimensions < self.context_length - 1:
            raise UserError(
                f'data.dimensions: {self.dimensions} make {2**self.dimensions} points, fewer than the '
                f'{self.context_length - 1} of a set'
            )

    @property
    def _width(self) -> int:
        return self.dimensions + len(COLOURS) + 1

    @property
    def _key(self) -> tuple[str, int, int, int]:
        return 'coloured points 1', self.context_length, self.fewest, self.dimensions

    def _drawn(self, uniform: Uniform, count: int) -> LabelledFrames:
        lengths = (self.fewest + (self.context_length - self.fewest + 1) * uniform(count)).astype(np.int32)
        numbers = uniform(count, 2**self.dimensions).argsort(axis=-1)[:, : self.context_length]  # of points, all apart
        points = 2 * (numbers[..., None] >> np.arange(self.dimensions) & 1) - 1
        colours = (len(COLOURS) * uniform(*numbers.shape)).astype(np.int32)
        places = np.arange(count)
        asked = (1 + (lengths - 1) * uniform(count)).astype(np.int32)  # the first member asks for one after it
        points[:, 0] = points[places, asked]
        shown = np.eye(len(COLOURS))[colours]
        shown[:, 0] = 0
        asks = np.zeros((*numbers.shape, 1))
        asks[:, 0] = 1
        frames = np.concatenate([points, shown, asks], axis=-1).astype(np.float32)
        there = np.arange(numbers.shape[-1]) < lengths[:, None]
        return LabelledFrames(frames[there], lengths, colours[places, asked])
