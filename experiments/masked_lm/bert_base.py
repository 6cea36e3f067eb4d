# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
r"""BERT base as published: 109,482,240 parameters without the pretraining heads, 110,106,428 with them.

    python launch/train.py --config=experiments/masked_lm/bert_base.py --workdir=runs/bert_base \
        --config.data.path=FOLDER

Devlin et al. 2019, https://arxiv.org/abs/1810.04805, appendix A.2. BERT large, with 335,141,888 and 336,226,108:

    --config.model.width=1024 --config.model.layers=24 --config.model.block.mixer.heads=16

For accelerators. The default corpus is only for trying it out; for training, use gigabytes of your own text,
and BERT's vocabulary with --config.data.tokenizer="{'use': 'data.tokenizer.file:TokenizerFile', 'path': 'vocab.txt'}".
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.masked_lm.base import bert_block, masked_lm


def get_config() -> ConfigDict:
    dropout = FieldReference(0.1)
    config = masked_lm(
        vocabulary=FieldReference(30522),
        context_length=FieldReference(512),
        width=768,
        layers=12,
        dropout=dropout,
        block=bert_block(heads=12, dropout=dropout),
    )
    config.steps = 1_000_000
    config.batch_size = 256
    config.dtype = 'bfloat16'
    config.log_every = 100
    config.eval_every = 10_000
    config.checkpoint_every = 10_000
    config.schedule = dict(use='train.schedule:Cosine', peak=1e-4, floor=0.0, warmup=10_000)
    return config
