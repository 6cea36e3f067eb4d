# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of the experiments on sound: an encoder of frames, mean pooling over time and a classifier."""

from typing import Any

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.run_settings import settings


def sound_encoder(*, steps: int, context_length: FieldReference, classes: FieldReference, **model: Any) -> ConfigDict:
    """Return a config for classification of frames, without its data. Args: model, fields such as width and layers."""
    norm = dict(use='norm.layer:LayerNorm')

    config = settings(steps=steps)
    config.eval_every = 100
    config.checkpoint_every = 200
    config.schedule.peak = 2e-3
    config.task = dict(use='task.classification:Classification')
    config.baseline = dict(use='task.classification:majority')
    config.model = dict(
        use='model.encoder:Encoder',
        embed=dict(use='embed.frame:FrameEmbedding'),
        context_length=context_length,
        **model,
        position=dict(use='position.none:NoPosition'),
        norm=norm,
        run=dict(use='model.stack:Unrolled'),
        block=dict(
            use='block.pre_norm:PreNorm',
            norm=norm,
            mixer=dict(
                use='attention.multi_head:MultiHead',
                heads=4,
                kernel=dict(use='attention.plain:Plain'),
                mask=dict(use='ops.mask:Full'),
                position=dict(use='position.rotary:Rotary'),
            ),
            feedforward=dict(use='feedforward.mlp:MLP', activation=dict(use='jax.nn:gelu'), ratio=4.0),
        ),
        heads=dict(pooled=dict(use='head.pooled:Pooled', classes=classes, pool=dict(use='ops.pool:mean'))),
    )
    return config
