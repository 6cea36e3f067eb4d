# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A small Kimi K2: the DeepSeek-V3 of `deepseek_tiny` with fewer heads, trained by MuonClip.

    python launch/train.py --config=experiments/causal_lm/kimi_k2_tiny.py --workdir=runs/kimi_k2

Kimi Team 2025, "Kimi K2: Open Agentic Intelligence", section 2, https://arxiv.org/abs/2507.20534. MuonClip is Muon and
QK-clip: a head whose largest score passes the threshold, 100 in the paper, gets smaller queries and keys after the
step. `largest_score` in the log is the mean over the layers of the largest score of a head.
"""

from ml_collections import ConfigDict
from saccade.experiments.causal_lm import deepseek_tiny


def get_config() -> ConfigDict:
    config = deepseek_tiny.get_config()
    mixer = config.model.block.mixer
    mixer.heads = 2
    mixer.kernel = dict(use='attention.largest_scores:LargestScores', inner=mixer.kernel)
    config.optimizer.rule = dict(use='train.optimizer:muon', others=config.optimizer.rule)
    config.optimizer.projection = dict(use='train.qk_clip:QKClip', threshold=100.0)
    return config
