# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A small Mistral: a Llama with shared keys and values, in which a token sees only those of a window before it.

    python launch/train.py --config=experiments/causal_lm/mistral_tiny.py --workdir=runs/mistral

Jiang et al. 2023, "Mistral 7B", section 2 and table 1, https://arxiv.org/abs/2310.06825. Through L layers of a window
of W tokens, what is L (W - 1) tokens back can still be felt. Mistral 7B, of 7,241,732,096 parameters, is

    --config.model.vocabulary=32000 --config.model.context_length=8192 --config.model.width=4096 \\
    --config.model.layers=32 --config.model.block.mixer.heads=32 --config.model.block.mixer.key_value_heads=8 \\
    --config.model.block.mixer.mask.left=4095 --config.model.block.feedforward.ratio=3.5
"""

from ml_collections import ConfigDict
from saccade.experiments.causal_lm.llama_tiny import get_config as llama


def get_config() -> ConfigDict:
    config = llama()
    config.model.block.mixer.mask = dict(use='ops.mask:Window', left=31)  # 32 tokens, as the query sees itself too
    config.model.block.feedforward.ratio = 3.5
    return config
