# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sets of coloured points: predict the colour of the queried point.

    a point: (x, one-hot colour, 0);   the query: (the x of one of the points, 0, 1)

The answer requires a comparison of the query with every point, as in attention. Members have no order, so the model has
no positions: Lee et al. 2019, "Set Transformer", https://arxiv.org/abs/1810.00825. Nothing is downloaded.
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
    """Sets of coloured points, with one query for the colour of a point.

    Attributes:
        context_length: number of members of the largest set, including the query.
        fewest: number of members of the smallest set.
        dimensions: number of coordinates of a point; each is -1 or 1, and the points of a set are distinct.
        train, validation: number of sets per split.
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
        numbers = uniform(count, 2**self.dimensions).argsort(axis=-1)[:, : self.context_length]  # of distinct points
        points = 2 * (numbers[..., None] >> np.arange(self.dimensions) & 1) - 1
        colours = (len(COLOURS) * uniform(*numbers.shape)).astype(np.int32)
        places = np.arange(count)
        asked = (1 + (lengths - 1) * uniform(count)).astype(np.int32)  # the first member queries one after it
        points[:, 0] = points[places, asked]
        shown = np.eye(len(COLOURS))[colours]
        shown[:, 0] = 0
        asks = np.zeros((*numbers.shape, 1))
        asks[:, 0] = 1
        frames = np.concatenate([points, shown, asks], axis=-1).astype(np.float32)
        there = np.arange(numbers.shape[-1]) < lengths[:, None]
        return LabelledFrames(frames[there], lengths, colours[places, asked])
