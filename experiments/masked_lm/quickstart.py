# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A small BERT on the Python documentation of this machine: masked tokens and next sentences, in ten CPU minutes.

    python launch/train.py --config=experiments/masked_lm/quickstart.py --workdir=runs/bert
    python launch/fill_mask.py --workdir=runs/bert --text="The [MASK] argument must be a [MASK]."

Other settings are in base.py. In such a short run pre-norm blocks learn faster than BERT's post-norm, and rotary
positions much faster than learned ones, which must first learn the order of positions.
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
