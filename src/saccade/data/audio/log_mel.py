# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Log-mel spectrogram: the logarithm of a sound's power in bands evenly spaced on the mel scale, frame by frame.

    frame_t = (log(1e-6 + M |FFT(Hann window x samples from t hop on)|^2) - mean) / deviation

M are triangular filters, rising from 0 to 1 and falling to 0 between three neighbouring points of an even grid of mels,
2595 log10(1 + f / 700) for f in Hz: Davis and Mermelstein 1980, https://doi.org/10.1109/TASSP.1980.1163420; the scale
is O'Shaughnessy 1987, "Speech Communication", as in HTK. Frames do not extend beyond the sound. Mean and deviation are
per band, over the training split.
"""

import functools
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import scipy.fft
import scipy.signal
from jaxtyping import Float

from saccade.data.frames.standardizer import Standardizer
from saccade.data.processor_base import ProcessorBase
from saccade.types import Count, NotNegative, UserError, require_positive

__all__ = ['LogMel']

SETTINGS = ('rate', 'window', 'hop', 'mels', 'low', 'high')  # which the training split does not decide
_QUIET = 1e-6  # the power of silence


@dataclass(frozen=True)
class LogMel(ProcessorBase):
    """Log-mel spectrogram.

    Attributes:
        rate: samples per second.
        window: samples per frame.
        hop: samples from one frame to the next.
        mels: number of bands per frame (F).
        low: frequency in Hz at which the first band begins.
        high: frequency in Hz at which the last band ends; None for half the rate.
        mean, deviation: of each band; empty until they are measured.
    """

    rate: Count = 16_000
    window: Count = 400
    hop: Count = 160
    mels: Count = 40
    low: NotNegative = 0.0
    high: float | None = None
    mean: tuple[float, ...] = ()
    deviation: tuple[float, ...] = ()

    of_what: ClassVar[str] = 'sound'

    def __post_init__(self) -> None:
        require_positive('log-mel processor', rate=self.rate, window=self.window, hop=self.hop, mels=self.mels)
        if not 0 <= self.low < self.highest <= self.rate / 2:
            raise UserError(
                f'log-mel processor: low, high: bands from {self.low:g} to {self.highest:g} Hz; a rate of {self.rate} '
                f'has frequencies from 0 to {self.rate / 2:g} Hz'
            )
        empty = np.flatnonzero(self.bands.sum(axis=-1) == 0)
        if len(empty):
            raise UserError(
                f'log-mel processor: mels: band {empty[0] + 1} of {self.mels} is narrower than a frequency of a window '
                f'of {self.window} samples; take fewer mels or a longer window'
            )

    @property
    def highest(self) -> float:
        """Frequency in Hz at which the last band ends."""
        return self.rate / 2 if self.high is None else self.high

    @property
    def bands(self) -> Float[np.ndarray, 'F bins']:
        """M, the weight of each frequency bin in each band."""
        return mel_bands(self.rate, self.window, self.mels, self.low, self.highest)

    def of_split(self, sounds: Iterable[Float[np.ndarray, '_']]) -> 'LogMel':
        """Return the processor with mean and deviation of each band over the frames of these sounds."""
        found = Standardizer.of(np.concatenate([self.power(sound) for sound in sounds]))
        return replace(self, mean=found.mean, deviation=found.deviation)

    def power(self, sound: Float[np.ndarray, '_']) -> Float[np.ndarray, 'T F']:
        """Return the log-power in each band of each frame, without mean and deviation."""
        frames = np.lib.stride_tricks.sliding_window_view(sound, self.window)[:: self.hop]
        spectrum = scipy.fft.rfft(frames * scipy.signal.get_window('hann', self.window), axis=-1)
        return np.log(_QUIET + np.einsum('TB,FB->TF', np.abs(spectrum) ** 2, self.bands)).astype(np.float32)

    def __call__(self, sound: Float[np.ndarray, '_'], place: str) -> Float[np.ndarray, 'T F']:
        """Return the frames of a sound.

        Args:
            place: place of the sound, for messages.

        Raises:
            UserError: the sound is shorter than a window.
        """
        if len(sound) < self.window:
            raise UserError(f'{place}: has {len(sound)} samples, fewer than a window of {self.window}')
        return Standardizer(self.mean, self.deviation)(self.power(sound))


@functools.cache
def mel_bands(rate: int, window: int, mels: int, low: float, high: float) -> Float[np.ndarray, 'F bins']:
    """Return the weight of each frequency bin of a window in each band."""
    edges = hertz(np.linspace(mel(low), mel(high), mels + 2))
    bins = np.fft.rfftfreq(window, 1 / rate)
    rising = (bins - edges[:-2, None]) / np.diff(edges)[:-1, None]
    falling = (edges[2:, None] - bins) / np.diff(edges)[1:, None]
    return np.maximum(np.minimum(rising, falling), 0.0)


def mel(hertz: float) -> float:
    """Return the pitch of a frequency, in mels."""
    return 2595.0 * np.log10(1.0 + hertz / 700.0)


def hertz(mels: Float[np.ndarray, '_']) -> Float[np.ndarray, '_']:
    """Return the frequencies of pitches, in Hz."""
    return 700.0 * (10.0 ** (mels / 2595.0) - 1.0)
