# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A small Qwen3-Next: three layers of Gated DeltaNet for each of gated attention, with mixtures of experts.

    python launch/train.py --config=experiments/causal_lm/qwen3_next_tiny.py --workdir=runs/qwen3_next

Qwen Team 2025, "Qwen3-Next", https://qwen.ai/blog?id=qwen3-next; the delta rule: Yang et al. 2024, "Gated Delta
Networks", https://arxiv.org/abs/2412.06464; the attention's gate: Qiu et al. 2025, "Gated Attention for Large Language
Models", https://arxiv.org/abs/2505.06708. A quarter of an attention head's features is rotated, and its queries and
keys are normed. The original norms scale by 1 + w with w initialised at 0, which differs only in weight decay. There is
no multi-token prediction. The original divides the delta rule's queries by sqrt(head_width); here this factor is in the
norm's epsilon. Qwen3-Next-80B-A3B, with 79,674,391,296 parameters, is

    --config.model.vocabulary=151936 --config.model.context_length=32768 --config.model.width=2048 \\
    --config.model.layers=48 --config.model.block.0.mixer.heads=32 --config.model.block.0.mixer.key_heads=16 \\
    --config.model.block.0.mixer.head_width=128 --config.model.block.0.mixer.value_width=128 \\
    --config.model.block.3.mixer.heads=16 --config.model.block.3.mixer.key_value_heads=2 \\
    --config.model.block.3.mixer.head_width=256 --config.model.block.0.feedforward.experts=512 \\
    --config.model.block.0.feedforward.active=10 --config.model.block.0.feedforward.expert.width=512
"""

from typing import Any

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.causal_lm.base import NORMAL, causal_lm, starts


def get_config() -> ConfigDict:
    layers, vocabulary, context_length = FieldReference(4), FieldReference(1024), FieldReference(128)
    heads, key_heads, head_width, value_width = (FieldReference(size) for size in (4, 2, 32, 32))
    experts, active, expert_width = (FieldReference(size) for size in (16, 4, 64))
    norm = dict(use='norm.rms:RMSNorm', epsilon=1e-6)

    def block(mixer: dict[str, Any]) -> dict[str, Any]:
        expert = dict(
            use='feedforward.gated:Gated', activation=dict(use='jax.nn:silu'), width=expert_width, **starts(layers)
        )
        return dict(
            use='block.pre_norm:PreNorm',
            norm=norm,
            mixer=mixer | starts(layers),
            feedforward=dict(
                use='feedforward.mixture:Mixture',
                experts=experts,
                active=active,
                expert=expert,
                shared=dict(use='feedforward.token_gated:TokenGated', expert=expert, gate_init=NORMAL),
                block=32,
                router=dict(
                    use='feedforward.token_choice:TokenChoice',
                    score=dict(use='jax.nn:softmax'),
                    renormalised=True,
                    balance=0.001,
                    kernel_init=NORMAL,
                ),
            ),
        )

    def linear() -> dict[str, Any]:
        return block(
            dict(
                use='attention.delta:Delta',
                heads=heads,
                key_heads=key_heads,
                head_width=head_width,
                value_width=value_width,
                gate=dict(use='jax.nn:silu'),
                convolution=dict(use='recurrent.mixer.convolution:Convolution', size=4, depthwise=True, bias=False),
                head_norm=norm | dict(epsilon=1e-6 * head_width.to_float()),
            )
        )

    softmax = block(
        dict(
            use='attention.multi_head:MultiHead',
            heads=4,
            key_value_heads=2,
            head_width=32,
            head_norm=norm,
            gate=dict(use='jax.nn:sigmoid'),
            kernel=dict(use='attention.plain:Plain'),
            mask=dict(use='ops.mask:Causal'),
            position=dict(use='position.rotary:Rotary', base=1e7, share=0.25),
        )
    )
    return causal_lm(
        vocabulary=vocabulary,
        context_length=context_length,
        width=128,
        layers=layers,
        tied=False,
        head_init=NORMAL,
        norm=norm,
        block=[linear(), linear(), linear(), softmax],
    )
