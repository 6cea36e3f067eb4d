# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A small Samba, with Mamba-2 instead of Mamba: state space layers alternating with sliding-window attention.

    python launch/train.py --config=experiments/causal_lm/samba_tiny.py --workdir=runs/samba

Ren et al. 2024, "Samba: Simple Hybrid State Space Models for Efficient Unlimited Context Language Modeling", section
2, https://arxiv.org/abs/2406.07522: Mamba, MLP, sliding-window attention, MLP, repeated; the MLPs are SwiGLU. The
published models use the first Mamba (Gu, Dao 2023, https://arxiv.org/abs/2312.00752), with one decay per feature of the
state, which Saccade does not have. This is the published order of layers with Mamba-2, so the number of parameters
matches no published one. Beyond the window, only the fixed-size state remembers tokens.
"""

from typing import Any

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.causal_lm.base import causal_lm, starts


def get_config() -> ConfigDict:
    layers, vocabulary, context_length = FieldReference(4), FieldReference(1024), FieldReference(128)
    norm = dict(use='norm.rms:RMSNorm', epsilon=1e-5)

    def block(mixer: dict[str, Any]) -> dict[str, Any]:
        return dict(
            use='block.pre_norm:PreNorm',
            norm=norm,
            mixer=mixer | starts(layers),
            feedforward=dict(
                use='feedforward.gated:Gated', activation=dict(use='jax.nn:silu'), ratio=8 / 3, **starts(layers)
            ),
        )

    recurrent = block(
        dict(
            use='attention.mamba2:Mamba2',
            heads=8,
            head_width=16,
            value_width=32,
            chunk=64,
            convolution=dict(use='recurrent.mixer.convolution:Convolution', size=4, depthwise=True),
            output_norm=norm,
        )
    )
    window = block(
        dict(
            use='attention.multi_head:MultiHead',
            heads=4,
            kernel=dict(use='attention.plain:Plain'),
            mask=dict(use='ops.mask:Window', left=31),
            position=dict(use='position.rotary:Rotary', base=10000.0),
        )
    )
    return causal_lm(
        vocabulary=vocabulary,
        context_length=context_length,
        width=128,
        layers=layers,
        tied=True,
        norm=norm,
        block=[recurrent, window],
    )
