# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A small YOCO: layers with a window, then as many that all attend to one global KV cache.

    python launch/train.py --config=experiments/causal_lm/yoco_tiny.py --workdir=runs/yoco

Sun et al. 2024, "You Only Cache Once: Decoder-Decoder Architectures for Language Models", section 2,
https://arxiv.org/abs/2405.05254. The self-decoder's output is normed and projected once to the keys and values of all
cross-decoder layers, which are one block here, `block.shared_keys`: `layers` is L / 2 layers with a window and that
block of L / 2. The paper's norm of keys and values has a gain apart from that of the first queries; here both have one,
and the projections can make up for it. A row of S tokens keeps S keys and values once, where a Transformer keeps L S,
beside L / 2 windows. The paper's other self-decoder, gated retention, is a change of `block.mixer`. What it saves in
reading a prompt, for which the cross-decoder is needed at the last token alone, is not done. Other sizes:

    --config.model.layers=13 --config.model.width=512 --config.model.block.mixer.heads=8 \\
    --config.model.block.mixer.key_value_heads=4 --config.model.block.mixer.mask.left=1023
"""

from typing import Any

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.causal_lm.base import causal_lm, starts


def get_config() -> ConfigDict:
    layers, vocabulary, context_length = FieldReference(5), FieldReference(1024), FieldReference(128)
    heads, key_value_heads = FieldReference(4), FieldReference(2)
    in_each_half = layers - 1
    norm = dict(use='norm.rms:RMSNorm', epsilon=1e-5)

    def layer(mask: dict[str, Any]) -> dict[str, Any]:
        return dict(
            norm=norm,
            mixer=dict(
                use='attention.multi_head:MultiHead',
                heads=heads,
                key_value_heads=key_value_heads,
                kernel=dict(use='attention.plain:Plain'),
                mask=mask,
                position=dict(use='position.rotary:Rotary', base=10000.0),
                **starts(2 * in_each_half),
            ),
            feedforward=dict(
                use='feedforward.gated:Gated',
                activation=dict(use='jax.nn:silu'),
                ratio=8 / 3,
                **starts(2 * in_each_half),
            ),
        )

    return causal_lm(
        vocabulary=vocabulary,
        context_length=context_length,
        width=128,
        layers=layers,
        tied=True,
        norm=norm,
        block=layer(dict(use='ops.mask:Window', left=31)) | dict(use='block.pre_norm:PreNorm'),
        last_blocks=[
            layer(dict(use='ops.mask:Causal')) | dict(use='block.shared_keys:SharedKeys', sharing=in_each_half)
        ],
    )
