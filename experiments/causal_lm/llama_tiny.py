# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A Llama of a million parameters: RMS norms, rotary positions, SwiGLU, grouped-query attention, untied, no biases.

    python launch/train.py --config=experiments/causal_lm/llama_tiny.py --workdir=runs/llama

Touvron et al. 2023, https://arxiv.org/abs/2302.13971; grouped-query attention as in Llama 2 70B and Llama 3.
Widths follow from `model.width`. Llama 2 7B (https://arxiv.org/abs/2307.09288), with 6,738,415,616 parameters, is

    --config.model.vocabulary=32000 --config.model.context_length=4096 --config.model.width=4096 \\
    --config.model.layers=32 --config.model.block.mixer.heads=32 --config.model.block.mixer.key_value_heads=32 \\
    --config.model.block.feedforward.ratio=2.6875
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.causal_lm.base import NORMAL, causal_lm, starts


def get_config() -> ConfigDict:
    layers, vocabulary, context_length = FieldReference(4), FieldReference(1024), FieldReference(128)
    norm = dict(use='norm.rms:RMSNorm', epsilon=1e-5)

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
                use='attention.multi_head:MultiHead',
                heads=4,
                key_value_heads=2,
                kernel=dict(use='attention.plain:Plain', dropout=0.0),
                mask=dict(use='ops.mask:Causal'),
                position=dict(use='position.rotary:Rotary', base=10000.0),
                bias=False,
                output_bias=False,
                **starts(layers),
            ),
            feedforward=dict(
                use='feedforward.gated:Gated',
                activation=dict(use='jax.nn:silu'),
                ratio=8 / 3,
                bias=False,
                **starts(layers),
            ),
        ),
    )
