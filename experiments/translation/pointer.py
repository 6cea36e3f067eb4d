# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A pointer into 20 words, to be followed by hard attention: minutes on one core.

    python launch/train.py --config=experiments/translation/pointer.py --workdir=runs/pointer
    python launch/translate.py --workdir=runs/pointer --alignment=map.png \\
        --text="3 1 4 1 5 9 2 6 5 3 5 8 9 7 9 3 2 3 8 4 @9"

The encoder is unidirectional: it reads the words before the pointer. The choice of one state is
trained by straight-through estimates; the other gradient estimators, soft attention and no attention are points of
experiments/sweeps/estimators.py.
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.translation import generated
from saccade.experiments.translation.recurrent import recurrent


def get_config() -> ConfigDict:
    length, width = FieldReference(20), FieldReference(64)
    attention = dict(
        use='recurrent.decoder.hard:Hard',
        score=dict(use='recurrent.score.general:General'),
        estimator=dict(use='recurrent.decoder.straight_through:StraightThrough'),
    )

    config = generated.get_config()
    config.data.generator = dict(use='data.synthetic.sequences:Pointer', symbols=20, length=length)
    config.data.train = 100_000
    config.data.source_context_length = length + 2
    config.data.context_length = 2
    config.model = recurrent(
        vocabulary=config.data.tokenizer.get_ref('vocabulary'),
        context_length=config.data.get_ref('context_length'),
        source_context_length=config.data.get_ref('source_context_length'),
        width=width,
        decoder=dict(use='recurrent.decoder.luong:Luong', attention=attention, input_feeding=False),
        dropout=0.0,
    )
    config.model.encoder.bidirectional = False
    config.batch_size = 128
    config.steps = 8000  # for REINFORCE; the others need a quarter
    config.eval_every = 1000
    config.schedule.peak = 5e-3
    return config
