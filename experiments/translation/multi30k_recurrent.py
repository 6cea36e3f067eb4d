# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
r"""The captions of multi30k.py with a bidirectional LSTM and a decoder with Bahdanau's attention.

    python launch/train.py --config=experiments/translation/multi30k_recurrent.py --workdir=runs/m30k_recurrent \
        --config.data.path=DIR

experiments/sweeps/multi30k_decoders.py compares it with no attention and with Luong's.
"""

from ml_collections import ConfigDict
from saccade.experiments.translation import multi30k
from saccade.experiments.translation.recurrent import by_bahdanau


def get_config() -> ConfigDict:
    return by_bahdanau(multi30k.get_config(), width=256, dropout=0.3)
