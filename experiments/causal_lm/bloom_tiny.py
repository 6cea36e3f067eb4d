# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A small BLOOM: ALiBi positions, a layer norm after the embedding, layer norms and biases throughout.

    python launch/train.py --config=experiments/causal_lm/bloom_tiny.py --workdir=runs/bloom

BigScience Workshop 2022, "BLOOM: A 176B-Parameter Open-Access Multilingual Language Model", section 3.2,
https://arxiv.org/abs/2211.05100. Any sequence length is possible, as positions are not trained. BLOOM-560m, with
559,214,592 parameters, is

    --config.model.vocabulary=250880 --config.model.context_length=2048 --config.model.width=1024 \\
    --config.model.layers=24 --config.model.block.mixer.heads=16
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.causal_lm.base import causal_lm, starts


def get_config() -> ConfigDict:
    layers, vocabulary, context_length = FieldReference(4), FieldReference(1024), FieldReference(128)
    norm = dict(use='norm.layer:LayerNorm', epsilon=1e-5)

    return causal_lm(
        vocabulary=vocabulary,
        context_length=context_length,
        width=128,
        layers=layers,
        tied=True,
        embedding_norm=norm,
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
                bias=True,
                output_bias=True,
                **starts(layers),
            ),
            feedforward=dict(
                use='feedforward.mlp:MLP',
                activation=dict(use='jax.nn:gelu', approximate=True),
                ratio=4.0,
                **starts(layers),
            ),
        ),
    )
