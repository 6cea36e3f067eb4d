# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Copying by a pointer-generator, of words that a vocabulary does not have too: minutes on one core.

    python launch/train.py --config=experiments/translation/pointer_generator.py --workdir=runs/pointed
    python launch/translate.py --workdir=runs/pointed --replace_unknown --text="3 1 seven 4 zwei 1 8 2 6 5"

The vocabulary has 40 of the 60 words, so a third of them is [UNK] on both sides. Translation writes the source word
that the model attended to in place of [UNK].
"""

from ml_collections import ConfigDict
from saccade.experiments.translation import copying


def get_config() -> ConfigDict:
    config = copying.get_config()
    config.data.generator.symbols = 60
    config.data.generator.shortest = 5
    config.data.generator.doublings = False
    config.model.decoder.input_feeding = False
    config.data.generator.longest = 10
    config.data.source_context_length = 12
    config.data.context_length = 12
    config.data.tokenizer.vocabulary = 48
    config.model.pointer = dict(use='head.pointer_generator:PointerGenerator')
    config.steps = 1500
    return config
