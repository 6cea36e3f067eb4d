# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A small DeepSeek-V3: latent attention, and many narrow experts plus a shared one, balanced without a loss.

    python launch/train.py --config=experiments/causal_lm/deepseek_tiny.py --workdir=runs/deepseek

DeepSeek-AI 2024, "DeepSeek-V3 Technical Report", sections 2.1 and 4.2, https://arxiv.org/abs/2412.19437. Every layer is
a mixture here, whereas the first three of V3 are dense. There is no sequence-wise balance loss, and no limit on the
number of devices per token; multi-token prediction is in experiments/causal_lm/multi_token.py. The sizes of V3 are

    --config.model.vocabulary=129280 --config.model.context_length=4096 --config.model.width=7168 \\
    --config.model.layers=61 --config.model.block.mixer.heads=128 --config.model.block.mixer.rank=512 \\
    --config.model.block.mixer.query_rank=1536 --config.model.block.mixer.head_width=128 \\
    --config.model.block.mixer.value_width=128 --config.model.block.mixer.rotated_width=64 \\
    --config.model.block.feedforward.experts=256 --config.model.block.feedforward.active=8 \\
    --config.model.block.feedforward.expert.width=2048 --config.model.block.feedforward.shared.width=2048

with 703,797,827,840 parameters; the published model, with its dense layers, has 671 B.
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.causal_lm.base import NORMAL, causal_lm, starts


def get_config() -> ConfigDict:
    layers, vocabulary, context_length = FieldReference(4), FieldReference(1024), FieldReference(128)
    norm = dict(use='norm.rms:RMSNorm', epsilon=1e-6)
    expert = dict(
        use='feedforward.gated:Gated',
        activation=dict(use='jax.nn:silu'),
        width=48,
        **starts(layers),
    )

    return causal_lm(
        vocabulary=vocabulary,
        context_length=context_length,
        width=128,
        layers=layers,
        tied=False,
        head_init=NORMAL,
        norm=norm,
        block=dict(
            use='block.pre_norm:PreNorm',
            norm=norm,
            mixer=dict(
                use='attention.latent:Latent',
                heads=4,
                rank=32,
                query_rank=64,
                head_width=32,
                value_width=32,
                rotated_width=16,
                kernel=dict(use='attention.plain:Plain'),
                mask=dict(use='ops.mask:Causal'),
                position=dict(use='position.rotary:Rotary', base=10000.0),
                norm=norm,
                **starts(layers),
            ),
            feedforward=dict(
                use='feedforward.mixture:Mixture',
                experts=16,
                active=4,
                expert=expert,
                shared=expert,
                block=32,
                router=dict(
                    use='feedforward.loss_free:LossFree',
                    score=dict(use='jax.nn:sigmoid'),
                    renormalised=True,
                    scale=2.5,
                    kernel_init=NORMAL,
                ),
            ),
        ),
    )
