# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Multi-token prediction: a small Llama that also predicts the token after the next.

    python launch/train.py --config=experiments/causal_lm/multi_token.py --workdir=runs/multi_token

DeepSeek-AI 2024, "DeepSeek-V3 Technical Report", section 2.2, https://arxiv.org/abs/2412.19437: one sequential head,
with weight 0.3. The four tokens of Gloeckle et al. 2024, https://arxiv.org/abs/2404.19737, with parallel heads, are

    --config.model.ahead.use=model.multi_token:ParallelHeads --config.model.ahead.count=3 --config.task.weight=3
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.causal_lm import llama_tiny


def get_config() -> ConfigDict:
    config, heads = llama_tiny.get_config(), FieldReference(1)
    config.model.update(
        use='model.multi_token:MultiTokenDecoder', ahead=dict(use='model.multi_token:SequentialHeads', count=heads)
    )
    config.task.update(use='task.multi_token:MultiTokenPrediction', ahead=heads, weight=0.3)
    return config
