# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sets of real numbers: predict the largest.

    a member: (x,), x uniform in [0, 1);   the value of a set: max over its members

Lee et al. 2019, "Set Transformer", section 5.1, https://arxiv.org/abs/1810.00825, as max regression: sets of 1 to 10
numbers up to 100, so their errors are 100 times ours. Members have no order, so the model has no positions. Nothing is
downloaded.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from saccade.data.frames.labelled_base import LabelledFrames, LabelledFramesBase, Uniform
from saccade.data.frames.rows import UNVALUED
from saccade.data.split import Row
from saccade.types import Count, UserError

__all__ = ['LargestNumber']


@dataclass(frozen=True, kw_only=True)
class LargestNumber(LabelledFramesBase):
    """Sets of numbers, with the largest of each.

    Attributes:
        context_length: number of members of the largest set.
        fewest: number of members of the smallest set; each size is as frequent.
        train, validation: number of sets per split.
    """

    fewest: Count = 1
    train: Count = 8000

    classes: ClassVar[int] = 1
    names: ClassVar[tuple[str, ...]] = ()
    unlabelled: ClassVar[Row] = UNVALUED

    def __post_init__(self) -> None:
        if self.fewest > self.context_length:
            raise UserError(f'data.fewest: {self.fewest} must be at most data.context_length, {self.context_length}')

    @property
    def _width(self) -> int:
        return 1

    @property
    def _key(self) -> tuple[str, int, int]:
        return 'largest number 1', self.context_length, self.fewest

    def _drawn(self, uniform: Uniform, count: int) -> LabelledFrames:
        lengths = (self.fewest + (self.context_length - self.fewest + 1) * uniform(count)).astype(np.int32)
        numbers = uniform(count, self.context_length).astype(np.float32)
        there = np.arange(self.context_length) < lengths[:, None]
        return LabelledFrames(numbers[there][:, None], lengths, np.where(there, numbers, 0).max(axis=-1))
