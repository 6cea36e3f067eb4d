# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A tiny BERT, with the layers of the published one, so that it can be exported for transformers.

    python launch/train.py --config=experiments/masked_lm/bert_tiny.py --workdir=runs/bert_tiny
    python launch/export.py --workdir=runs/bert_tiny --out=bert_tiny_hf

Sizes of the smallest model of Turc et al. 2019, "Well-Read Students Learn Better", https://arxiv.org/abs/1908.08962:
2 layers, width 128, 2 heads, here with a smaller vocabulary and context. `quickstart.py` learns sooner, but no family
of Hugging Face holds its layers.
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.masked_lm.base import bert_block, masked_lm


def get_config() -> ConfigDict:
    dropout = FieldReference(0.0)
    config = masked_lm(
        vocabulary=FieldReference(2048),
        context_length=FieldReference(64),
        width=128,
        layers=2,
        dropout=dropout,
        block=bert_block(heads=2, dropout=dropout),
    )
    config.steps = 2000
    config.batch_size = 16
    config.log_every = 100
    config.eval_every = 500
    config.checkpoint_every = 500
    return config
