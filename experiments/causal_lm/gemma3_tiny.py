# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A small Gemma 3: five windowed layers for each global layer, normed queries and keys.

    python launch/train.py --config=experiments/causal_lm/gemma3_tiny.py --workdir=runs/gemma3

Gemma Team 2025, "Gemma 3 Technical Report", section 2, https://arxiv.org/abs/2503.19786. The pattern of six is
repeated, and the two remaining layers are `last_blocks`: the 8 layers here are 6 and 2, the 26 of the 1B are 4 times 6
and 2. Windowed layers rotate by a base of 10,000, the others by 1,000,000. Norms scale as in `gemma2_tiny`. Gemma 3 1B,
with 999,885,952 parameters, is

    --config.model.vocabulary=262144 --config.model.context_length=32768 --config.model.width=1152 \\
    --config.model.layers=26 --config.model.block.0.mixer.heads=4 --config.model.block.0.mixer.key_value_heads=1 \\
    --config.model.block.0.mixer.head_width=256 --config.model.block.0.mixer.mask.left=511 \\
    --config.model.block.0.feedforward.ratio=6.0
"""

from typing import Any

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.causal_lm.base import causal_lm, starts


def get_config() -> ConfigDict:
    layers, vocabulary, context_length = FieldReference(8), FieldReference(1024), FieldReference(128)
    width, heads, key_value_heads, head_width = (FieldReference(size) for size in (128, 4, 1, 32))
    left, ratio = FieldReference(31), FieldReference(4.0)
    norm = dict(use='norm.rms:RMSNorm', epsilon=1e-6)

    def block(mask: dict[str, Any], base: float) -> dict[str, Any]:
        return dict(
            use='block.sandwich:Sandwich',
            norm=norm,
            mixer=dict(
                use='attention.multi_head:MultiHead',
                heads=heads,
                key_value_heads=key_value_heads,
                head_width=head_width,
                head_norm=norm,
                kernel=dict(use='attention.plain:Plain'),
                mask=mask,
                position=dict(use='position.rotary:Rotary', base=base),
                **starts(layers),
            ),
            feedforward=dict(
                use='feedforward.gated:Gated',
                activation=dict(use='jax.nn:gelu', approximate=True),
                ratio=ratio,
                **starts(layers),
            ),
        )

    def local() -> dict[str, Any]:
        return block(dict(use='ops.mask:Window', left=left), 1e4)

    return causal_lm(
        vocabulary=vocabulary,
        context_length=context_length,
        width=width,
        layers=layers,
        tied=True,
        embedding_scale=width.to_float() ** 0.5,
        norm=norm,
        block=[*(local() for _ in range(5)), block(dict(use='ops.mask:Causal'), 1e6)],
        last_blocks=[local(), local()],
    )
