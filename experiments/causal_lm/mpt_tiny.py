# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A small MPT: ALiBi positions as in BLOOM, and no bias parameters, not even in norms.

    python launch/train.py --config=experiments/causal_lm/mpt_tiny.py --workdir=runs/mpt

MosaicML 2023, "Introducing MPT-7B: A New Standard for Open-Source, Commercially Usable LLMs",
https://www.databricks.com/blog/mpt-7b. MPT-7B, with 6,649,286,656 parameters, is

    --config.model.vocabulary=50432 --config.model.context_length=2048 --config.model.width=4096 \\
    --config.model.layers=32 --config.model.block.mixer.heads=32
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.causal_lm.base import causal_lm, starts


def get_config() -> ConfigDict:
    layers, vocabulary, context_length = FieldReference(4), FieldReference(1024), FieldReference(128)
    norm = dict(use='norm.layer:LayerNorm', epsilon=1e-5, bias=False)

    return causal_lm(
        vocabulary=vocabulary,
        context_length=context_length,
        width=128,
        layers=layers,
        tied=True,
        norm=norm,
        block=dict(
            use='block.pre_norm:PreNorm',
            norm=norm,
            mixer=dict(
                use='attention.multi_head:MultiHead',
                heads=4,
                kernel=dict(use='attention.plain:Plain'),
                mask=dict(use='ops.mask:Causal'),
                position=dict(use='position.alibi:ALiBi'),
                **starts(layers),
            ),
            feedforward=dict(
                use='feedforward.mlp:MLP',
                activation=dict(use='ops.activation:gelu'),
                ratio=4.0,
                bias=False,
                **starts(layers),
            ),
        ),
    )
