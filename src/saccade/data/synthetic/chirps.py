# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Drawn chirps: a sound glides up or down, before or after a tone that stays: which of the four?

Up and down, before and after have the same frames in another order, where a window is of two hops: a model that does
not know the order of its frames is right a quarter of the time. Nothing is downloaded. Row n is a function of n, of its
split and of the seed, and is drawn when it is asked for.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import scipy.signal
from jaxtyping import Float

from saccade.data.audio.labelled_base import LabelledSoundsBase
from saccade.data.audio.log_mel import LogMel
from saccade.data.cache import digest
from saccade.data.labelled_base import Labelled
from saccade.data.uniform import uniform
from saccade.types import Count, CountOrZero, Part

__all__ = ['Chirps']

NAMES = 'down, then still', 'still, then down', 'still, then up', 'up, then still'
_SECONDS = 0.3  # of the chirp, and of the tone
_PAUSE = 0.045  # seconds of noise alone before, between and after them, so that no frame has both
_LOWEST, _HIGHEST = 300.0, 2000.0  # Hz
_INTERVAL = 1.5  # of a chirp, its higher frequency over its lower one, at least; at most its square
_NOISE = 0.1
_VERSION = 1  # another number wherever the same draws make another sound


@dataclass(frozen=True, eq=False)
class DrawnSounds:
    """Drawn sounds of a split. Attributes: name and number of the split; count; seed; rate, samples a second."""

    name: str
    split: int
    count: int
    seed: int
    rate: int

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Float[np.ndarray, '_']:
        draw = uniform(self.seed, self.split, index)
        number, interval, base, still, phase, loud = draw(6)
        times = np.arange(round(_SECONDS * self.rate)) / self.rate
        ratio = _INTERVAL ** (1 + interval)
        low = _LOWEST * (_HIGHEST / ratio / _LOWEST) ** base
        ends = (low, low * ratio) if NAMES[int(4 * number)].count('up') else (low * ratio, low)
        glide = scipy.signal.chirp(times, ends[0], times[-1], ends[1], method='logarithmic', phi=360 * phase)
        tone = np.cos(2 * np.pi * (low * ratio**still * times + phase))
        first, second = (tone, glide) if NAMES[int(4 * number)].startswith('still') else (glide, tone)
        pause = np.zeros(round(_PAUSE * self.rate))
        sound = (0.2 + 0.8 * loud) * np.concatenate([pause, first, pause, second, pause])
        return (sound + _NOISE * (2 * draw(len(sound)) - 1)).astype(np.float32)

    def place(self, index: int) -> str:
        """The number of a sound."""
        return f'{self.name}[{index}]'

    def labels(self) -> np.ndarray:
        """The class of each sound."""
        return np.array([int(4 * uniform(self.seed, self.split, index)(6)[0]) for index in range(self.count)], np.int32)


@dataclass(frozen=True, kw_only=True)
class Chirps(LabelledSoundsBase):
    """Drawn chirps and tones.

    Attributes:
        train, validation: sounds of each split.
        seed: another one makes other sounds.
    """

    processor: Part[LogMel] = Part(LogMel, (('rate', 8000),))  # noqa: RUF009, it is frozen
    train: Count = 2000
    validation: Count = 500
    seed: CountOrZero = 0

    classes: ClassVar[int] = len(NAMES)

    def _labelled(self, cache: Path) -> tuple[Mapping[str, Labelled], str]:
        rate = self.processor().rate
        counts = enumerate([('train', self.train), ('validation', self.validation)])
        drawn = [DrawnSounds(name, split, count, self.seed, rate) for split, (name, count) in counts]
        splits = {sounds.name: Labelled(sounds, sounds.labels(), NAMES) for sounds in drawn}
        return splits, digest(_VERSION, self.train, self.validation, self.seed, rate)
