# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Perceiver IO, small: masked bytes, read by 32 latents, in which the layers run.

    python launch/train.py --config=experiments/masked_lm/perceiver_tiny.py --workdir=runs/perceiver

Jaegle et al. 2022, "Perceiver IO", section 4.1, https://arxiv.org/abs/2107.14795; its language models have 2,048 bytes
and 256 latents. Spans of bytes are hidden, as in `canine_tiny.py`, on the same bytes.
"""

from ml_collections import ConfigDict
from saccade.experiments.masked_lm import bert_tiny
from saccade.experiments.masked_lm.base import GELU, MASKED, NO_POSITION, NORM
from saccade.experiments.masked_lm.canine_tiny import LENGTH, SPECIALS


def get_config() -> ConfigDict:
    config = bert_tiny.get_config()
    config.task.choose = dict(use='ops.masking:choose_spans')
    config.data.context_length = LENGTH
    config.data.tokenizer = dict(use='data.tokenizer.byte:Byte', end=None, specials=SPECIALS)
    config.data.pairing = dict(use='data.encoder.pairing:OnePassage')
    model = config.model
    model.use, model.vocabulary, model.context_length = 'model.perceiver:Perceiver', 261, LENGTH
    model.types, model.embedding_norm, model.latents = 0, None, 32
    model.heads = dict(masked=MASKED)
    model.block = dict(
        use='block.pre_norm:PreNorm',
        norm=NORM,
        mixer=dict(
            use='attention.multi_head:MultiHead',
            heads=4,
            kernel=dict(use='attention.plain:Plain'),
            mask=dict(use='ops.mask:Full'),
            position=NO_POSITION,
            bias=True,
            output_bias=True,
        ),
        feedforward=dict(use='feedforward.mlp:MLP', activation=GELU, ratio=1.0, bias=True),
    )
    return config
