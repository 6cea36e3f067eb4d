# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The dates of dates.py by a recurrent model: an LSTM in both directions, and a decoder with Bahdanau's attention.

    python launch/train.py --config=experiments/translation/dates_recurrent.py --workdir=runs/recurrent
    python launch/translate.py --workdir=runs/recurrent --text="the third of March 1999" --alignment=map.png

Another attention is one line, and experiments/sweeps/decoders.py compares all, beginning with none:

    --config.model.decoder.attention="{'use': 'recurrent.soft:Soft', 'score': {'use': 'recurrent.general:General'}}"
"""

import dates
from ml_collections import ConfigDict, FieldReference
from recurrent import recurrent


def get_config() -> ConfigDict:
    width = FieldReference(128)
    attention = dict(use='recurrent.soft:Soft', score=dict(use='recurrent.additive:Additive', width=width))

    config = dates.get_config()
    config.model = recurrent(
        vocabulary=config.model.decoder.get_ref('vocabulary'),
        context=config.data.get_ref('context'),
        source_context=config.data.get_ref('source_context'),
        width=width,
        decoder=dict(use='recurrent.bahdanau:Bahdanau', attention=attention),
        dropout=0.0,
    )
    return config
