# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A small Mixtral: a Llama with a mixture of 8 experts, 2 active per token, as feed-forward layers.

    python launch/train.py --config=experiments/causal_lm/mixtral_tiny.py --workdir=runs/mixtral

Jiang et al. 2024, "Mixtral of Experts", section 2 and table 1, https://arxiv.org/abs/2401.04088. The paper does not
describe the load balancing of its router; here it has the losses of Switch and ST-MoE, with their weights. Mixtral
8x7B, with 46,702,792,704 parameters, is

    --config.model.vocabulary=32000 --config.model.context_length=32768 --config.model.width=4096 \\
    --config.model.layers=32 --config.model.block.mixer.heads=32 --config.model.block.mixer.key_value_heads=8 \\
    --config.model.block.feedforward.expert.ratio=3.5
"""

from ml_collections import ConfigDict
from saccade.experiments.causal_lm.base import NORMAL
from saccade.experiments.causal_lm.llama_tiny import get_config as llama


def get_config() -> ConfigDict:
    config = llama()
    block = config.model.block
    block.mixer.position.base = 1e6
    block.feedforward.ratio = 1.5
    block.feedforward = dict(
        use='feedforward.mixture:Mixture',
        experts=8,
        active=2,
        expert=block.feedforward,
        router=dict(
            use='feedforward.token_choice:TokenChoice',
            score=dict(use='jax.nn:softmax'),
            renormalised=True,
            balance=0.01,
            z=0.001,
            kernel_init=NORMAL,
        ),
    )
    return config
