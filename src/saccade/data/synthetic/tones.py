# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Melodies of drawn tones, as spectrograms: does a melody rise, fall, rise and fall, or fall and rise?

    frame_t = log(1e-3 + mean over the bins of a band of |FFT(Hann window x samples of frame t)|^2)

The mean pitch, the steps, the length of each note, the overtones and the noise are drawn. Rising and falling melodies
have the same distribution of pitches: only the order of the frames tells them apart. Nothing is downloaded.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import jax
import numpy as np
from jaxtyping import Float, Int

from saccade.data.cache import digest
from saccade.data.dataset_base import Arrays, BySplit, DatasetBase, Source
from saccade.data.frames.rows import FrameRows, FrameSplit, blank
from saccade.data.frames.standardizer import Standardizer
from saccade.data.split import Split, batch_of
from saccade.types import Count, Model, Part, UserError, require_positive

CONTOURS = {'falling': (-1, -1), 'peak': (1, -1), 'rising': (1, 1), 'valley': (-1, 1)}  # of the first half, the second
_RATE, _SAMPLES = 8000, 256  # a second; a frame, which are 32 ms
_SHORTEST, _LONGEST = 2, 5  # frames of a note
_LOWEST, _OCTAVES = 350.0, 1.0  # Hz of the mean pitch, and how much higher it may be
_OVERTONES = 3


@dataclass(frozen=True)
class Melodies:
    """Melodies of a split, before they are processed.

    Attributes: frames of all of them, one after another; lengths, the frames of each; labels, by the order of CONTOURS.
    """

    frames: Float[np.ndarray, 'frames F']
    lengths: Int[np.ndarray, 'melodies']
    labels: Int[np.ndarray, 'melodies']

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, kw_only=True)
class Tones(DatasetBase):
    """Melodies of drawn tones and their contours.

    Attributes:
        context_length: frames of a row, of 32 ms each; a note has up to 5.
        notes: of a melody, an odd number.
        bands: F, of equal width from 0 to 4 kHz; a divisor of 128.
        train, validation: melodies drawn for each split.
    """

    context_length: Count
    notes: Count = 5
    bands: Count = 64
    train: Count = 2000
    validation: Count = 500

    classes: ClassVar[int] = len(CONTOURS)

    def __post_init__(self) -> None:
        sizes = {name: getattr(self, name) for name in ('notes', 'bands', 'train', 'validation')}
        require_positive('data', **sizes)
        if self.notes < 3 or self.notes % 2 == 0:
            raise UserError(f'data.notes: {self.notes} must be an odd number from 3, so that one note is in the middle')
        if 128 % self.bands:
            raise UserError(f'data.bands: {self.bands} must divide 128')
        if self.context_length < self.notes * _LONGEST:
            raise UserError(
                f'data.context_length: {self.notes} notes have up to {self.notes * _LONGEST} frames, not '
                f'{self.context_length}'
            )

    def batch_like(self, batch_size: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Return the shapes of a batch, known before any data is drawn."""
        return batch_of(blank(self.context_length, self.bands), batch_size)

    def open_processor(self, folder: Path) -> Standardizer | None:
        """Open the standardizer in a run's folder; None where there is none.

        Raises:
            UserError: its file is damaged.
        """
        return Standardizer.load(folder)

    def require_model(self, model: Part[Model], processor: Standardizer | None) -> None:
        """Refuse the standardizer of a model whose frames have other bands."""
        if processor is not None:
            self.frame(processor)

    def frame(self, processor: Standardizer) -> int:
        """Return how many frames a row has.

        Raises:
            UserError: the standardizer is of other bands.
        """
        if len(processor.mean) != self.bands:
            raise UserError(
                f'data.bands: the processor is of {len(processor.mean)} bands, and the data of {self.bands}'
            )
        return self.context_length

    @property
    def _key(self) -> str:
        return 'tones'

    def _open(self, cache: Path) -> Source:
        counts = {'train': self.train, 'validation': self.validation}
        drawn = {name: _draw(number, counts[name], self.notes, self.bands) for number, name in enumerate(counts)}
        return Source(drawn, digest('tones 1', self.notes, self.bands, self.train, self.validation))

    def _make_processor(self, source: Source, cache: Path) -> Standardizer:
        return Standardizer.of(source.splits['train'].frames)

    def _arrays(self, source: Source, processor: Standardizer) -> BySplit:
        return {
            name: {'frames': processor(drawn.frames), 'lengths': drawn.lengths, 'labels': drawn.labels}
            for name, drawn in source.splits.items()
        }

    def _splits(self, arrays: BySplit, source: Source, frame: int, processor: Standardizer) -> dict[str, Split]:
        return {name: _split(found, frame) for name, found in arrays.items()}


def _split(arrays: Arrays, context_length: int) -> FrameSplit:
    starts = np.concatenate([[0], np.cumsum(arrays['lengths'])])
    rows = FrameRows(arrays['frames'], starts, arrays['labels'], context_length)
    return FrameSplit(rows=rows, targets=len(rows), names=tuple(CONTOURS))


def _draw(seed: int, melodies: int, notes: int, bands: int) -> Melodies:
    """Draw melodies by Philox, whose raw numbers are the same in every release of NumPy."""
    source = np.random.Philox(key=seed)

    def uniform(*shape: int) -> np.ndarray:
        return (source.random_raw(shape) >> np.uint64(11)) * 2.0**-53

    labels = (uniform(melodies) * len(CONTOURS)).astype(np.int32)
    signs = np.repeat(np.array(list(CONTOURS.values()))[labels], notes // 2, axis=-1)
    steps = signs * (2 + 2 * uniform(melodies, notes - 1))
    semitones = np.cumsum(np.pad(steps, ((0, 0), (1, 0))), axis=-1)
    semitones += 12 * _OCTAVES * uniform(melodies, 1) - semitones.mean(axis=-1, keepdims=True)
    pitches = _LOWEST * 2 ** (semitones / 12)
    lengths = (_SHORTEST + (_LONGEST - _SHORTEST + 1) * uniform(melodies, notes)).astype(np.int32)
    amplitudes = uniform(melodies, _OVERTONES) / np.arange(1, _OVERTONES + 1)
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
    pooled = power.reshape(len(frames), bands, -1).mean(axis=-1)
    return Melodies(np.log(1e-3 + pooled).astype(np.float32), counts, labels)
