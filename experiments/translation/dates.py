# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Translation of dates in five languages to ISO 8601, character by character: minutes on a CPU.

    python launch/train.py --config=experiments/translation/dates.py --workdir=runs/dates
    python launch/evaluate.py --workdir=runs/dates
    python launch/translate.py --workdir=runs/dates --text="the third of March 1999" --alignment=map.png

Nothing is downloaded: the dates are generated, and evaluation has only dates that are not in training. Other settings
are as in generated.py.
"""

from ml_collections import ConfigDict
from saccade.experiments.translation import generated


def get_config() -> ConfigDict:
    config = generated.get_config()
    config.data.generator = dict(
        use='data.synthetic.dates:Dates', languages=['en', 'de', 'fr', 'it', 'es'], first=1900, last=2099
    )
    config.data.train = 30_000
    config.data.validation = 1000
    config.data.tokenizer = dict(use='data.tokenizer.character:Character')
    config.data.source_context_length = 48
    config.data.context_length = 12
    config.model.decoder.vocabulary = 80
    config.steps = 1500
    config.sample = dict(use='decode.translator:Translated', text='the third of March 1999')
    return config
