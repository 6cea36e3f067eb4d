# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Dates as people write them in five languages, translated to ISO 8601 character by character: minutes on a CPU.

    python launch/train.py --config=experiments/translation/dates.py --workdir=runs/dates
    python launch/evaluate.py --workdir=runs/dates
    python launch/translate.py --workdir=runs/dates --text="the third of March 1999" --alignment=map.png

Nothing is downloaded: the dates are generated, and none of those that it is judged by was learned from.
"""

from base import transformer
from ml_collections import ConfigDict, FieldReference
from seq2seq import EXACT, seq2seq


def get_config() -> ConfigDict:
    vocabulary, source_context, context = FieldReference(80), FieldReference(48), FieldReference(12)

    config = seq2seq(
        model=transformer(
            vocabulary=vocabulary,
            source_context=source_context,
            context=context,
            width=64,
            heads=4,
            layers=2,
            dropout=0.0,  # the dates are too many to be learned by heart
            pre_norm=True,
        ),
        data=dict(
            use='data.generated:Generated',
            generator=dict(use='data.dates:Dates', languages=['en', 'de', 'fr', 'it', 'es'], first=1900, last=2099),
            train=30_000,
            validation=1000,
            seed=0,
            held_out=0.1,
            tokenizer=dict(use='data.tokenizer:Character'),
            source_context=source_context,
            context=context,
            start=None,
        ),
        metrics=[EXACT],
    )
    config.steps = 1500
    config.batch_size = 64
    config.schedule.peak = 3e-3
    config.sample = dict(use='decode.translator:Translated', text='the third of March 1999')
    return config
