# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Log-mel frames against those of transformers."""

import numpy as np
import pytest

from saccade.data.audio.log_mel import LogMel, mel_bands

audio = pytest.importorskip('transformers.audio_utils', reason='the oracle extra is not installed: transformers')

pytestmark = pytest.mark.oracle


def test_bands_and_frames_are_those_of_transformers():
    rate, window, hop, mels = 16_000, 512, 160, 40
    theirs = audio.mel_filter_bank(1 + window // 2, mels, 20.0, 7600.0, rate, norm=None, mel_scale='htk')
    np.testing.assert_allclose(mel_bands(rate, window, mels, 20.0, 7600.0), theirs.T, atol=1e-6)
    sound = np.random.default_rng(0).uniform(-1, 1, 4000)
    wanted = audio.spectrogram(
        sound, audio.window_function(window, 'hann'), window, hop, power=2.0, center=False, mel_filters=theirs,
        mel_floor=1e-10, log_mel='log',
    )  # fmt: skip
    found = LogMel(rate, window, hop, mels, 20.0, 7600.0).power(sound.astype(np.float32))
    np.testing.assert_allclose(found, wanted.T, atol=1e-4)
