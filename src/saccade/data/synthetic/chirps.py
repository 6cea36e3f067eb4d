# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Generated chirps: four classes of a gliding sound, up or down, before or after a steady tone.

Reversing or swapping the two parts only reorders the frames (for windows of two hops), so a model without the order of
the frames has an accuracy of one quarter. Nothing is downloaded. Row n is a function of n, its split and the seed, and
is generated on demand.
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
_SECONDS = 0.3  # duration of the chirp, and of the tone
_PAUSE = 0.045  # seconds of only noise before, between and after them, so that no frame has both
_LOWEST, _HIGHEST = 300.0, 2000.0  # Hz
_INTERVAL = 1.5  # minimum ratio of a chirp's higher to its lower frequency; the maximum is its square
_NOISE = 0.1
_VERSION = 1  # increase it when the same draws give another sound


@dataclass(frozen=True, eq=False)
class DrawnSounds:
    """Generated sounds of a split. Attributes: name and index of the split; count; seed; rate, samples per second."""

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
        """Return the place of a sound, for messages."""
        return f'{self.name}[{index}]'

    def labels(self) -> np.ndarray:
        """Return the class of each sound."""
        return np.array([int(4 * uniform(self.seed, self.split, index)(6)[0]) for index in range(self.count)], np.int32)


@dataclass(frozen=True, kw_only=True)
class Chirps(LabelledSoundsBase):
    """Generated chirps and tones.

    Attributes:
        train, validation: number of sounds per split.
        seed: random seed.
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
