# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A small Mixtral: a Llama whose feed-forward layers are 8 experts, of which each token has the 2 it scores highest.

    python launch/train.py --config=experiments/causal_lm/mixtral_tiny.py --workdir=runs/mixtral

Jiang et al. 2024, "Mixtral of Experts", section 2 and table 1, https://arxiv.org/abs/2401.04088. The paper does not say
how its router was kept balanced: the losses here are those of Switch and of ST-MoE, at their weights. Mixtral 8x7B, of
46,702,792,704 parameters, is

    --config.model.vocabulary=32000 --config.model.context=32768 --config.model.width=4096 --config.model.layers=32 \\
    --config.model.block.mixer.heads=32 --config.model.block.mixer.key_value_heads=8 \\
    --config.model.block.feedforward.expert.ratio=3.5
"""

from base import NORMAL, causal_lm, starts
from ml_collections import ConfigDict, FieldReference


def get_config() -> ConfigDict:
    layers, vocabulary, context = FieldReference(4), FieldReference(1024), FieldReference(128)
    norm = dict(use='norm.rms:RMSNorm', epsilon=1e-5)

    return causal_lm(
        vocabulary=vocabulary,
        context=context,
        width=128,
        layers=layers,
        tied=False,
        head_init=NORMAL,
        norm=norm,
        block=dict(
            use='block.pre_norm:PreNorm',
            norm=norm,
            mixer=dict(
                use='attention.multi_head:MultiHead',
                heads=4,
                key_value_heads=2,
                kernel=dict(use='attention.plain:Plain'),
                mask=dict(use='ops.mask:Causal'),
                position=dict(use='position.rotary:Rotary', base=1e6),
                **starts(layers),
            ),
            feedforward=dict(
                use='feedforward.mixture:Mixture',
                experts=8,
                active=2,
                expert=dict(
                    use='feedforward.gated:Gated',
                    activation=dict(use='jax.nn:silu'),
                    ratio=1.5,
                    **starts(layers),
                ),
                router=dict(
                    use='feedforward.token_choice:TokenChoice',
                    score=dict(use='jax.nn:softmax'),
                    renormalised=True,
                    balance=0.01,
                    z=0.001,
                    kernel_init=NORMAL,
                ),
            ),
        ),
    )
