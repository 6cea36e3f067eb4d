# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A language model with linear attention: keys and values are summed, so the cost per token is independent of length.

    python launch/train.py --config=experiments/causal_lm/linear_lm.py --workdir=runs/linear

Katharopoulos et al. 2020, "Transformers are RNNs: Fast Autoregressive Transformers with Linear Attention",
https://arxiv.org/abs/2006.16236: their kernel in the blocks of GPT-2, with learned positions. The decoding state has a
fixed size. Other mixers with a fixed-size state replace the whole mixer:

    --config.model.block.mixer="{'use': 'attention.delta:Delta', 'heads': 4}"
    --config.model.block.mixer="{'use': 'attention.retention:Retention', 'heads': 4}"
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.causal_lm.base import NO_POSITION, causal_lm, starts


def get_config() -> ConfigDict:
    layers, vocabulary, context_length = FieldReference(4), FieldReference(1024), FieldReference(128)
    norm = dict(use='norm.layer:LayerNorm')

    return causal_lm(
        vocabulary=vocabulary,
        context_length=context_length,
        width=128,
        layers=layers,
        tied=True,
        position=dict(use='position.learned:Learned', length=context_length),
        norm=norm,
        block=dict(
            use='block.pre_norm:PreNorm',
            norm=norm,
            mixer=dict(
                use='attention.multi_head:MultiHead',
                heads=4,
                kernel=dict(use='attention.linear:Linear'),
                mask=dict(use='ops.mask:Causal'),
                position=NO_POSITION,
                **starts(layers),
            ),
            feedforward=dict(
                use='feedforward.mlp:MLP',
                activation=dict(use='jax.nn:gelu', approximate=True),
                ratio=4.0,
                **starts(layers),
            ),
        ),
    )
