# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Classification of your own sounds: WAV files in folders named after their classes.

    python launch/train.py --config=experiments/audio/wav.py --workdir=runs/sounds \\
        --config.data.path=FOLDER --config.data.classes=10
    python launch/predict.py --workdir=runs/sounds --sound=a.wav

All have one rate, `config.data.processor.rate`; frames are of 25 ms, one each 10 ms. What is beyond
`config.data.context_length` frames is cut off. It was tried on folders of a few sounds only.
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.audio.base import sound_encoder


def get_config() -> ConfigDict:
    context_length, classes = FieldReference(300), FieldReference(10)

    config = sound_encoder(
        steps=5000, context_length=context_length, classes=classes, width=FieldReference(192), layers=6
    )
    config.eval_every = 500
    config.checkpoint_every = 500
    config.data = dict(
        use='data.audio.folder:SoundFolder',
        path='sounds',
        classes=classes,
        validation=0.2,
        context_length=context_length,
        processor=dict(use='data.audio.log_mel:LogMel', rate=16_000, window=400, hop=160, mels=64, low=0.0, high=None),
    )
    return config
