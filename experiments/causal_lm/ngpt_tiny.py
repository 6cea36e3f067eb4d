# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""An nGPT of a million parameters: hidden states, embeddings and the vectors of every matrix have norm 1.

    python launch/train.py --config=experiments/causal_lm/ngpt_tiny.py --workdir=runs/ngpt

Loshchilov, Hsieh, Sun, Ginsburg 2024, "nGPT: Normalized Transformer with Representation Learning on the Hypersphere",
section 2.6, https://arxiv.org/abs/2410.01131. There are no norms with parameters, no weight decay, no clipping, no
warm-up and no tied weights. Eigen learning rates start at 1 / L, and scales of the logits at 10 instead of the paper's
1, which would not grow enough in so short a run. `llama_tiny` is the same model without these changes, but with
grouped-query attention.
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.causal_lm.base import causal_lm


def get_config() -> ConfigDict:
    layers, vocabulary, context_length = FieldReference(4), FieldReference(1024), FieldReference(128)
    reads, writes = (dict(use='ops.similarity:unit_normal', axis=axis) for axis in (0, 1))  # D -> ..., ... -> D
    norm = dict(use='norm.none:NoNorm')

    config = causal_lm(
        vocabulary=vocabulary,
        context_length=context_length,
        width=128,
        layers=layers,
        tied=False,
        embedding_init=writes,
        head_init=reads,
        logit_gain=dict(use='gain:Gain', start=10.0),
        norm=norm,
        block=dict(
            use='block.normalized_residual:NormalizedResidual',
            norm=norm,
            rate=dict(use='gain:Gain', start=1 / layers.to_float()),
            mixer=dict(
                use='attention.normalized_heads:NormalizedHeads',
                heads=4,
                kernel=dict(use='attention.plain:Plain', dropout=0.0),
                mask=dict(use='ops.mask:Causal'),
                position=dict(use='position.rotary:Rotary', base=10000.0),
                gain=dict(use='gain:Gain', start=1.0),
                kernel_init=reads,
                output_init=writes,
            ),
            feedforward=dict(
                use='feedforward.rescaled_gated:RescaledGated',
                activation=dict(use='jax.nn:silu'),
                ratio=8 / 3,
                gain=dict(use='gain:Gain', start=1.0, stored=1.0),
                kernel_init=reads,
                output_init=writes,
            ),
        ),
    )
    config.optimizer.weight_decay = 0.0
    config.optimizer.clip_norm = None
    config.optimizer.projection = dict(use='train.unit_vectors:UnitVectors')
    config.schedule.warmup = 0
    config.schedule.floor = 0.0
    return config
