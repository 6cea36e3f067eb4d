# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A small YOCO: windowed layers, followed by as many layers that share one global KV cache.

    python launch/train.py --config=experiments/causal_lm/yoco_tiny.py --workdir=runs/yoco

Sun et al. 2024, "You Only Cache Once: Decoder-Decoder Architectures for Language Models", section 2,
https://arxiv.org/abs/2405.05254. The self-decoder's output is normed and projected once to the keys and values of all
cross-decoder layers, which are one block here, `block.shared_keys`: `layers` counts L / 2 windowed layers and that
block of L / 2. In the paper the norms of the keys and values and of the first queries have separate gains; here they
share one, which the projections can compensate. The cache of S tokens has S keys and values and L / 2 windows, compared
with L S in a Transformer. For the paper's other self-decoder, gated retention, change `block.mixer`. The faster
prefill, where the cross-decoder runs only at the last token, is not implemented. Other sizes:

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
