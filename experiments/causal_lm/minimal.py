# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A minimal Transformer language model: self-attention with positions, a nonlinearity and a causal mask.

    python launch/train.py --config=experiments/causal_lm/minimal.py --workdir=runs/minimal

One head attends over tokens with learned positions, followed by two linear maps with a ReLU between them. There are
no norms, no further heads and no biases in attention (a reduction of Vaswani et al. 2017,
https://arxiv.org/abs/1706.03762). Residual connections are kept: without them, with the block
`block.no_residual:NoResidual`, the model learns little more than token frequencies in its first 150 steps.
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.causal_lm.base import NO_POSITION, causal_lm


def get_config() -> ConfigDict:
    vocabulary, context_length = FieldReference(1024), FieldReference(128)
    nothing = dict(use='norm.none:NoNorm')

    return causal_lm(
        vocabulary=vocabulary,
        context_length=context_length,
        width=128,
        layers=2,
        tied=False,
        position=dict(use='position.learned:Learned', length=context_length),
        norm=nothing,
        block=dict(
            use='block.pre_norm:PreNorm',
            norm=nothing,
            mixer=dict(
                use='attention.multi_head:MultiHead',
                heads=1,
                kernel=dict(use='attention.plain:Plain'),
                mask=dict(use='ops.mask:Causal'),
                position=NO_POSITION,
            ),
            feedforward=dict(use='feedforward.mlp:MLP', activation=dict(use='jax.nn:relu'), ratio=4.0),
        ),
    )
