# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Multi-query associative recall by one layer of attention after a short convolution, in Zoology's smallest setting.

    python launch/train.py --config=experiments/diagnostics/recall_based.py --workdir=runs/recall_based

Arora et al. 2024, "Simple linear attention language models balance the recall-throughput tradeoff", figure 2,
https://arxiv.org/abs/2402.18668: the attention baseline of their code has a convolution over three tokens as its
first layer. It mixes each key into the value after it, so one layer of attention and 1,200 steps of 64 rows suffice.
Other settings are as in `recall_zoology.py`, whose two layers of attention need three times as many steps.
"""

from ml_collections import ConfigDict
from saccade.experiments.diagnostics.recall_zoology import get_config as two_layers_of_attention


def get_config() -> ConfigDict:
    config = two_layers_of_attention()
    attention = config.model.block.to_dict()
    convolution = dict(use='recurrent.mixer.convolution:Convolution', size=3, depthwise=True)

    config.steps = 1200
    del config.model['block']
    config.model.block = [attention | dict(mixer=convolution), attention]
    return config
