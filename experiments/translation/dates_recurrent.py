# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The dates of dates.py with a recurrent model: a bidirectional LSTM and a decoder with Bahdanau's attention.

    python launch/train.py --config=experiments/translation/dates_recurrent.py --workdir=runs/recurrent
    python launch/translate.py --workdir=runs/recurrent --text="the third of March 1999" --alignment=map.png

Another attention is one override; experiments/sweeps/decoders.py compares all decoders, including one without
attention:

    --config.model.decoder.attention="{'use': 'recurrent.decoder.soft:Soft', \
        'score': {'use': 'recurrent.score.general:General'}}"
"""

from ml_collections import ConfigDict
from saccade.experiments.translation import dates
from saccade.experiments.translation.recurrent import by_bahdanau


def get_config() -> ConfigDict:
    return by_bahdanau(dates.get_config(), width=128, dropout=0.0)
