# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A small BERT of the Python documentation on this very machine: masked tokens and next sentences, in ten CPU minutes.

    python launch/train.py --config=experiments/masked_lm/quickstart.py --workdir=runs/bert
    python launch/fill_mask.py --workdir=runs/bert --text="The [MASK] argument must be a [MASK]."

What is not said here is in base.py beside it. In a run as short as this pre-norm blocks learn sooner than BERT's
post-norm, and rotary positions much sooner than learned ones, which must find out first what is next to what.
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.masked_lm.base import NO_POSITION, NORM, bert_block, masked_lm


def get_config() -> ConfigDict:
    context_length = FieldReference(64)
    block = bert_block(heads=4, dropout=0.0) | dict(use='block.pre_norm:PreNorm')
    block['mixer']['position'] = dict(use='position.rotary:Rotary')

    config = masked_lm(
        vocabulary=FieldReference(2048),
        context_length=context_length,
        width=128,
        layers=4,
        dropout=0.0,
        position=NO_POSITION,
        block=block,
        norm=NORM,
    )
    config.steps = 4400
    config.batch_size = 16
    config.log_every = 100
    config.eval_every = 1100
    config.checkpoint_every = 1100
    return config
