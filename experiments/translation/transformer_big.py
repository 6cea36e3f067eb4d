# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The Transformer as published, big size: 214,171,648 parameters with one vocabulary of 37,000 for English and German.

    python launch/train.py --config=experiments/translation/transformer_big.py --workdir=runs/big

Vaswani et al. 2017, "Attention Is All You Need", https://arxiv.org/abs/1706.03762; table 3 gives 213 million. Other
settings are as in transformer_base.py. For accelerators.
"""

from ml_collections import ConfigDict
from saccade.experiments.translation import transformer_base


def get_config() -> ConfigDict:
    config = transformer_base.get_config()
    config.model.decoder.width = 1024
    config.model.decoder.block.mixer.heads = 16
    config.model.decoder.dropout = 0.3
    config.steps = 300_000
    return config
