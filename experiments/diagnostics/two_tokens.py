# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Induction on repeated tokens, with a head that predicts the token after the next.

    python launch/train.py --config=experiments/diagnostics/two_tokens.py --workdir=runs/two_tokens

Gloeckle et al. 2024, "Better & Faster Large Language Models via Multi-token Prediction", section 4.1,
https://arxiv.org/abs/2404.19737. The tokens repeat with a period of 8 to 16. `experiments/sweeps/multi_token.py`
compares the heads with next-token prediction.
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.diagnostics.base import diagnostic


def get_config() -> ConfigDict:
    heads = FieldReference(1)
    generator = dict(use='data.diagnostic.copying:Repetition', symbols=32, least=8, most=16)

    config = diagnostic(generator, steps=300, context_length=32, vocabulary=32)
    config.model.update(
        use='model.multi_token:MultiTokenDecoder', ahead=dict(use='model.multi_token:ParallelHeads', count=heads)
    )
    config.task.update(use='task.multi_token:MultiTokenAnswering', ahead=heads, weight=1.0)
    return config
