# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A small Kimi Linear: three layers of Kimi delta attention for each layer of latent attention, without positions.

    python launch/train.py --config=experiments/causal_lm/kimi_linear_tiny.py --workdir=runs/kimi_linear

Kimi Team 2025, "Kimi Linear: An Expressive, Efficient Attention Architecture", section 4,
https://arxiv.org/abs/2510.26692. The first layer has a dense feed-forward layer, the others a mixture of experts with a
shared one, balanced without a loss; the last layer is latent attention. Delta-rule layers encode the order of tokens by
their decay. The paper divides their queries by sqrt(head_width); here this factor is in the norm's epsilon.
Kimi-Linear-48B-A3B, with 49,122,681,728 parameters including the 6,656 biases of its routers, is

    --config.model.vocabulary=163840 --config.model.context_length=4096 --config.model.width=2304 \\
    --config.model.layers=27 --config.model.block.0.mixer.heads=32 --config.model.block.0.mixer.head_width=128 \\
    --config.model.block.2.mixer.rank=512 --config.model.block.2.mixer.rotated_width=64 \\
    --config.model.first_blocks.0.feedforward.width=9216 \\
    --config.model.block.0.feedforward.experts=256 --config.model.block.0.feedforward.active=8 \\
    --config.model.block.0.feedforward.expert.width=1024
"""

from typing import Any

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.causal_lm.base import NO_POSITION, NORMAL, causal_lm, starts


def get_config() -> ConfigDict:
    layers, vocabulary, context_length = FieldReference(7), FieldReference(1024), FieldReference(128)
    heads, head_width, rank, shared_width = (FieldReference(size) for size in (4, 32, 32, 16))
    experts, active, expert_width = (FieldReference(size) for size in (16, 4, 48))
    norm = dict(use='norm.rms:RMSNorm', epsilon=1e-5)

    def gated(width: Any) -> dict[str, Any]:
        return dict(use='feedforward.gated:Gated', activation=dict(use='jax.nn:silu'), width=width, **starts(layers))

    def block(mixer: dict[str, Any], feedforward: dict[str, Any]) -> dict[str, Any]:
        return dict(use='block.pre_norm:PreNorm', norm=norm, mixer=mixer | starts(layers), feedforward=feedforward)

    def mixture() -> dict[str, Any]:
        return dict(
            use='feedforward.mixture:Mixture',
            experts=experts,
            active=active,
            expert=gated(expert_width),
            shared=gated(expert_width),
            block=32,
            router=dict(
                use='feedforward.loss_free:LossFree',
                score=dict(use='jax.nn:sigmoid'),
                renormalised=True,
                scale=2.446,
                kernel_init=NORMAL,
            ),
        )

    def delta() -> dict[str, Any]:
        return dict(
            use='attention.kimi_delta:KimiDelta',
            heads=heads,
            head_width=head_width,
            decay_rank=head_width,
            gate_rank=head_width,
            convolution=dict(use='recurrent.mixer.convolution:Convolution', size=4, depthwise=True, bias=False),
            head_norm=norm | dict(epsilon=1e-5 * head_width.to_float()),
        )

    def latent() -> dict[str, Any]:
        return dict(
            use='attention.latent:Latent',
            heads=heads,
            rank=rank,
            head_width=head_width,
            value_width=head_width,
            rotated_width=shared_width,
            kernel=dict(use='attention.plain:Plain'),
            mask=dict(use='ops.mask:Causal'),
            position=NO_POSITION,
            norm=norm | dict(epsilon=1e-6),
        )

    return causal_lm(
        vocabulary=vocabulary,
        context_length=context_length,
        width=128,
        layers=layers,
        tied=False,
        head_init=NORMAL,
        norm=norm,
        first_blocks=[block(delta(), gated(384))],
        block=[block(mixer(), mixture()) for mixer in (delta, delta, latent, delta)],
        last_blocks=[block(mixer(), mixture()) for mixer in (delta, latent)],
    )
