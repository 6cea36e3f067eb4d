# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
r"""The captions of multi30k.py by an LSTM in both directions and a decoder with Bahdanau's attention.

    python launch/train.py --config=experiments/translation/multi30k_recurrent.py --workdir=runs/m30k_recurrent \
        --config.data.path=DIR

experiments/sweeps/multi30k_decoders.py compares it with no attention and with Luong's.
"""

import multi30k
from ml_collections import ConfigDict, FieldReference
from recurrent import recurrent


def get_config() -> ConfigDict:
    width = FieldReference(256)
    attention = dict(use='recurrent.soft:Soft', score=dict(use='recurrent.additive:Additive', width=width))

    config = multi30k.get_config()
    config.model = recurrent(
        vocabulary=config.model.decoder.get_ref('vocabulary'),
        context=config.data.get_ref('context'),
        source_context=config.data.get_ref('source_context'),
        width=width,
        decoder=dict(use='recurrent.bahdanau:Bahdanau', attention=attention),
        dropout=0.3,
    )
    return config
