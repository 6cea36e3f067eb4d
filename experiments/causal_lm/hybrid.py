# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Hybrid attention: three windowed layers with rotary positions for each full layer without positions.

    python launch/train.py --config=experiments/causal_lm/hybrid.py --workdir=runs/hybrid

Yang et al. 2025, "Rope to Nope and Back Again: A New Hybrid Attention Strategy", https://arxiv.org/abs/2501.18795:
windows attend to nearby tokens by position, and the full layers retrieve distant tokens by content. The KV cache of a
windowed layer is small, so memory grows with the length in a quarter of the layers. Both kinds share their sizes, so
one override changes both; for another pattern or other blocks, change the list at the end:

    --config.model.layers=8 --config.model.block.0.mixer.heads=8 --config.model.block.0.mixer.mask.left=63
"""

from typing import Any

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.causal_lm.base import NO_POSITION, causal_lm, starts


def get_config() -> ConfigDict:
    layers, vocabulary, context_length = FieldReference(4), FieldReference(1024), FieldReference(128)
    heads, key_value_heads, window = FieldReference(4), FieldReference(2), FieldReference(31)
    norm = dict(use='norm.rms:RMSNorm', epsilon=1e-5)

    def block(mask: dict[str, Any], position: dict[str, Any]) -> dict[str, Any]:
        return dict(
            use='block.pre_norm:PreNorm',
            norm=norm,
            mixer=dict(
                use='attention.multi_head:MultiHead',
                heads=heads,
                key_value_heads=key_value_heads,
                kernel=dict(use='attention.plain:Plain'),
                mask=mask,
                position=position,
                **starts(layers),
            ),
            feedforward=dict(
                use='feedforward.gated:Gated',
                activation=dict(use='jax.nn:silu'),
                ratio=8 / 3,
                **starts(layers),
            ),
        )

    near = block(dict(use='ops.mask:Window', left=window), dict(use='position.rotary:Rotary', base=10000.0))
    far = block(dict(use='ops.mask:Causal'), NO_POSITION)
    return causal_lm(
        vocabulary=vocabulary,
        context_length=context_length,
        width=128,
        layers=layers,
        tied=True,
        norm=norm,
        block=[near, near, near, far],
    )
