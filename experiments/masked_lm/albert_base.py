# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
r"""ALBERT base: one shared layer applied twelve times, embeddings of width 128, sentence order prediction.

    python launch/train.py --config=experiments/masked_lm/albert_base.py --workdir=runs/albert \
        --config.data.path=FOLDER

Lan et al. 2020, https://arxiv.org/abs/1909.11942, tables 1 and 2: 11,683,584 parameters without the pretraining heads.
For accelerators.
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.masked_lm.base import MASKED, POOLED, TANH, bert_block, masked_lm


def get_config() -> ConfigDict:
    gelu = dict(use='jax.nn:gelu', approximate=True)
    config = masked_lm(
        vocabulary=FieldReference(30000),
        context_length=FieldReference(512),
        width=768,
        layers=1,
        passes=12,
        embedding_width=128,
        dropout=0.0,
        block=bert_block(heads=12, dropout=0.0),
        heads=dict(masked=MASKED | dict(activation=gelu), pooled=POOLED | dict(activation=TANH, classes=2)),
    )
    config.model.block.feedforward.activation = gelu
    config.data.pairing = dict(use='data.encoder.pairing:SentenceOrder')
    config.steps = 125_000
    config.batch_size = 4096
    config.accumulate = 64
    config.dtype = 'bfloat16'
    config.eval_every = 5000
    config.checkpoint_every = 5000
    config.schedule = dict(use='train.schedule:Cosine', peak=1.76e-3, floor=0.0, warmup=3125)
    return config
