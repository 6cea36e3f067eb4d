# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A small Mistral: a Llama with grouped-query attention in a sliding window.

    python launch/train.py --config=experiments/causal_lm/mistral_tiny.py --workdir=runs/mistral

Jiang et al. 2023, "Mistral 7B", section 2 and table 1, https://arxiv.org/abs/2310.06825. L layers with a window of W
tokens have a receptive field of L (W - 1) tokens back. Mistral 7B, with 7,241,732,096 parameters, is

    --config.model.vocabulary=32000 --config.model.context_length=8192 --config.model.width=4096 \\
    --config.model.layers=32 --config.model.block.mixer.heads=32 --config.model.block.mixer.key_value_heads=8 \\
    --config.model.block.mixer.mask.left=4095 --config.model.block.feedforward.ratio=3.5
"""

from ml_collections import ConfigDict
from saccade.experiments.causal_lm.llama_tiny import get_config as llama


def get_config() -> ConfigDict:
    config = llama()
    config.model.block.mixer.mask = dict(use='ops.mask:Window', left=31)  # 32 tokens, including the query's own
    config.model.block.feedforward.ratio = 3.5
    return config
