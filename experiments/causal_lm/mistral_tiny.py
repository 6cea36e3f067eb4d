# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A small Mistral: a Llama with shared keys and values, in which a token sees only those of a window before it.

    python launch/train.py --config=experiments/causal_lm/mistral_tiny.py --workdir=runs/mistral

Jiang et al. 2023, "Mistral 7B", section 2 and table 1, https://arxiv.org/abs/2310.06825. Through L layers of a window
of W tokens, what is L (W - 1) tokens back can still be felt. Mistral 7B, of 7,241,732,096 parameters, is

    --config.model.vocabulary=32000 --config.model.context=8192 --config.model.width=4096 --config.model.layers=32 \\
    --config.model.block.mixer.heads=32 --config.model.block.mixer.key_value_heads=8 \\
    --config.model.block.mixer.mask.left=4095 --config.model.block.feedforward.ratio=3.5
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
                mask=dict(use='ops.mask:Window', left=31),  # 32 tokens, as the query sees itself too
                position=dict(use='position.rotary:Rotary', base=10000.0),
                **starts(layers),
            ),
            feedforward=dict(
                use='feedforward.gated:Gated',
                activation=dict(use='jax.nn:silu'),
                ratio=3.5,
                **starts(layers),
            ),
        ),
    )
