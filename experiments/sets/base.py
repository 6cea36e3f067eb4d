# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Classifier of unordered frames: an encoder without positions, and mean pooling.

Its prediction is invariant to the order of the frames.
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.run_settings import settings


def frame_classifier(
    steps: int, context_length: int, classes: int
) -> tuple[ConfigDict, FieldReference, FieldReference]:
    """Return the config of a classifier of sets of frames, without its data, and the two sizes to share with the data.

    Args:
        context_length: frames per row.
        classes: number of classes.
    """
    context_length, classes = FieldReference(context_length), FieldReference(classes)
    norm = dict(use='norm.layer:LayerNorm')
    config = settings(steps=steps)
    config.eval_every = 100
    config.checkpoint_every = 100
    config.schedule.peak = 1e-3
    config.task = dict(use='task.classification:Classification')
    config.baseline = dict(use='task.classification:majority')
    config.model = dict(
        use='model.encoder:Encoder',
        embed=dict(use='embed.frame:FrameEmbedding'),
        context_length=context_length,
        width=FieldReference(64),
        layers=3,
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
                position=dict(use='position.none:NoPosition'),
            ),
            feedforward=dict(use='feedforward.mlp:MLP', activation=dict(use='jax.nn:gelu'), ratio=4.0),
        ),
        heads=dict(pooled=dict(use='head.pooled:Pooled', classes=classes, pool=dict(use='ops.pool:mean'))),
    )
    return config, context_length, classes
