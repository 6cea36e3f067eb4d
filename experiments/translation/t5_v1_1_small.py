# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""T5 small, version 1.1, 76,961,152 parameters: gated GELU, eight narrower layers, an untied output projection.

    python launch/train.py --config=experiments/translation/t5_v1_1_small.py --workdir=runs/t5_v1_1

Shazeer 2020, "GLU Variants Improve Transformer", https://arxiv.org/abs/2002.05202, and as published with Raffel et al.
2020, https://arxiv.org/abs/1910.10683. For the data and for published weights see t5_small.py.
"""

from ml_collections import ConfigDict
from saccade.experiments.translation import t5_small
from saccade.experiments.translation.t5 import t5


def get_config() -> ConfigDict:
    config = t5_small.get_config()
    config.model = t5(
        vocabulary=config.data.tokenizer.get_ref('vocabulary'),
        source_context_length=config.data.get_ref('source_context_length'),
        context_length=config.data.get_ref('context_length'),
        width=512,
        heads=6,
        layers=8,
        inner=1024,
        dropout=0.1,
        first=False,
    )
    return config
