# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A small Gemma 2: alternating windowed and global layers, softcaps on scores and logits, sandwich norms.

    python launch/train.py --config=experiments/causal_lm/gemma2_tiny.py --workdir=runs/gemma2

Gemma Team 2024, "Gemma 2: Improving Open Language Models at a Practical Size", section 2 and table 1,
https://arxiv.org/abs/2408.00118. Its norms scale by 1 + w with w initialised at zero; ours scale by w initialised at
one, which is the same function and differs only under weight decay. Both kinds of layer share their sizes, so one
override changes both. Gemma 2 2B, with 2,614,341,888 parameters, is

    --config.model.vocabulary=256000 --config.model.context_length=8192 --config.model.width=2304 \\
    --config.model.layers=26 --config.model.block.0.mixer.heads=8 --config.model.block.0.mixer.key_value_heads=4 \\
    --config.model.block.0.mixer.head_width=256 --config.model.block.0.mixer.mask.left=4095
"""

from typing import Any

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.causal_lm.base import causal_lm, starts


def get_config() -> ConfigDict:
    layers, vocabulary, context_length = FieldReference(4), FieldReference(1024), FieldReference(128)
    width, heads, key_value_heads, head_width = (FieldReference(size) for size in (128, 4, 2, 32))
    norm = dict(use='norm.rms:RMSNorm', epsilon=1e-6, zero_centred=True)

    def block(mask: dict[str, Any]) -> dict[str, Any]:
        return dict(
            use='block.sandwich:Sandwich',
            norm=norm,
            mixer=dict(
                use='attention.multi_head:MultiHead',
                heads=heads,
                key_value_heads=key_value_heads,
                head_width=head_width,
                scale=head_width.to_float() ** -0.5,  # only the 27B differs: 1 / sqrt(D / N)
                terms=[dict(use='ops.term:Softcap', cap=50.0)],
                kernel=dict(use='attention.plain:Plain'),
                mask=mask,
                position=dict(use='position.rotary:Rotary', base=10000.0),
                **starts(layers),
            ),
            feedforward=dict(
                use='feedforward.gated:Gated',
                activation=dict(use='jax.nn:gelu', approximate=True),
                ratio=4.0,
                **starts(layers),
            ),
        )

    return causal_lm(
        vocabulary=vocabulary,
        context_length=context_length,
        width=width,
        layers=layers,
        tied=True,
        embedding_scale=width.to_float() ** 0.5,
        logit_cap=30.0,
        norm=norm,
        block=[block(dict(use='ops.mask:Window', left=31)), block(dict(use='ops.mask:Causal'))],
    )
