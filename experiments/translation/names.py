# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Translation of sentences with names that are not in training: frequent words whole, and names by characters.

    python launch/train.py --config=experiments/translation/names.py --workdir=runs/names
    python launch/translate.py --workdir=runs/names --text="bring the letter from Kamiro"

A minute on one core. The model is recurrent, with Bahdanau's attention. experiments/sweeps/open_vocabulary.py compares
tokenizers.
"""

from ml_collections import ConfigDict
from saccade.experiments.translation import generated
from saccade.experiments.translation.recurrent import by_bahdanau


def get_config() -> ConfigDict:
    config = generated.get_config()
    config.data.generator = dict(use='data.synthetic.names:Names', shortest=3, longest=4)
    config.data.tokenizer.use = 'data.tokenizer.mixed_word:MixedWord'
    config.data.tokenizer.vocabulary = 400
    config.data.source_context_length = 16
    config.data.context_length = 16
    config.steps = 800
    config.eval_every = 400
    config.schedule.peak = 5e-3
    return by_bahdanau(config, width=64, dropout=0.0)
