# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A small BERT of the Python documentation on this very machine: masked tokens and next sentences, in ten CPU minutes.

    python launch/train.py --config=experiments/masked_lm/quickstart.py --workdir=runs/bert
    python launch/fill_mask.py --workdir=runs/bert --text="The [MASK] argument must be a [MASK]."

What is not said here is in base.py beside it. Its blocks are pre-norm, which learns sooner than BERT's post-norm in a
run as short as this.
"""

from base import NORM, bert_block, masked_lm
from ml_collections import ConfigDict, FieldReference


def get_config() -> ConfigDict:
    context = FieldReference(64)

    config = masked_lm(
        vocabulary=FieldReference(2048),
        context=context,
        width=128,
        layers=4,
        dropout=0.0,
        block=bert_block(heads=4, dropout=0.0) | dict(use='block.pre_norm:PreNorm'),
        norm=NORM,
    )
    config.steps = 4000
    config.batch_size = 32
    config.log_every = 100
    config.eval_every = 1000
    config.checkpoint_every = 1000
    return config
