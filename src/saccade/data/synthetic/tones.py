# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Melodies of generated tones, as spectrograms, in four classes: rising, falling, peak (rise, fall), valley (fall,
rise).

    frame_t = log(1e-3 + mean over the bins of a band of |FFT(Hann window x samples of frame t)|^2)

The mean pitch, the steps, the length of each note, the overtones and the noise are random. Rising and falling melodies
have the same distribution of pitches: only the order of the frames distinguishes them. Nothing is downloaded.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from saccade.data.frames.labelled_base import LabelledFrames, LabelledFramesBase, Uniform
from saccade.types import Count, UserError

__all__ = ['Tones']

CONTOURS = {'falling': (-1, -1), 'peak': (1, -1), 'rising': (1, 1), 'valley': (-1, 1)}  # direction of each half
_RATE, _SAMPLES = 8000, 256  # samples per second; samples per frame, which is 32 ms
_SHORTEST, _LONGEST = 2, 5  # frames per note
_LOWEST, _OCTAVES = 350.0, 1.0  # minimum of the mean pitch in Hz, and its range
_OVERTONES = 3


@dataclass(frozen=True, kw_only=True)
class Tones(LabelledFramesBase):
    """Melodies of generated tones, with their contours.

    Attributes:
        context_length: number of frames per row, of 32 ms each; a note has up to 5.
        notes: number of notes of a melody, odd.
        bands: number of frequency bands (F), of equal width from 0 to 4 kHz; a divisor of 128.
        train, validation: number of melodies per split.
    """

    notes: Count = 5
    bands: Count = 64

    classes: ClassVar[int] = len(CONTOURS)
    names: ClassVar[tuple[str, ...]] = tuple(CONTOURS)

    def __post_init__(self) -> None:
        if self.notes < 3 or self.notes % 2 == 0:
            raise UserError(f'data.notes: {self.notes} must be an odd number from 3, so that one note is in the middle')
        if 128 % self.bands:
            raise UserError(f'data.bands: {self.bands} must divide 128')
        if self.context_length < self.notes * _LONGEST:
            raise UserError(
                f'data.context_length: {self.notes} notes have up to {self.notes * _LONGEST} frames, not '
                f'{self.context_length}'
            )

    @property
    def _width(self) -> int:
        return self.bands

    @property
    def _key(self) -> Any:
        return 'tones 1', self.notes, self.bands

    def _drawn(self, uniform: Uniform, count: int) -> LabelledFrames:
        labels = (uniform(count) * len(CONTOURS)).astype(np.int32)
        signs = np.repeat(np.array(list(CONTOURS.values()))[labels], self.notes // 2, axis=-1)
        steps = signs * (2 + 2 * uniform(count, self.notes - 1))
        semitones = np.cumsum(np.pad(steps, ((0, 0), (1, 0))), axis=-1)
        semitones += 12 * _OCTAVES * uniform(count, 1) - semitones.mean(axis=-1, keepdims=True)
        pitches = _LOWEST * 2 ** (semitones / 12)
        lengths = (_SHORTEST + (_LONGEST - _SHORTEST + 1) * uniform(count, self.notes)).astype(np.int32)
        amplitudes = uniform(count, _OVERTONES) / np.arange(1, _OVERTONES + 1)
        amplitudes[:, 0] += 0.5
        frames = np.repeat(pitches.ravel(), lengths.ravel())  # Hz of each frame
        counts = lengths.sum(axis=-1)
        phases = 2 * np.pi * np.cumsum(np.repeat(frames, _SAMPLES)) / _RATE
        sound = sum(
            np.repeat(amplitudes[:, number], counts * _SAMPLES) * np.sin((number + 1) * phases)
            for number in range(_OVERTONES)
        )
        sound += 0.2 * (2 * uniform(len(sound)) - 1)
        power = np.abs(np.fft.rfft(sound.reshape(-1, _SAMPLES) * np.hanning(_SAMPLES))[:, 1:]) ** 2
        pooled = power.reshape(len(frames), self.bands, -1).mean(axis=-1)
        return LabelledFrames(np.log(1e-3 + pooled).astype(np.float32), counts, labels)
