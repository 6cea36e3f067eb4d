# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of the experiments on images: the Vision Transformer."""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.run_settings import settings


def vision_transformer(
    *, steps: int, image: int, patch: int, width: int, layers: int, heads: int, classes: int
) -> ConfigDict:
    """Return a run of a ViT on square images, without its data: pre-norm, a class token, learned grid positions.

    Args:
        image, patch: sides in pixels.
    """
    image, patch, classes = FieldReference(image), FieldReference(patch), FieldReference(classes)
    side = image // patch
    norm = dict(use='norm.layer:LayerNorm', epsilon=1e-6)

    config = settings(steps=steps)
    config.task = dict(use='task.classification:Classification', label_smoothing=0.0, augment=[])
    config.baseline = dict(use='task.classification:majority')
    config.model = dict(
        use='model.encoder:Encoder',
        embed=dict(use='embed.class_token:ClassToken', embed=dict(use='embed.patch:PatchEmbedding', patch=patch)),
        context_length=side * side + 1,
        width=width,
        layers=layers,
        dropout=0.0,
        position=dict(use='position.learned_grid:LearnedGrid', rows=side, columns=side, before=1),
        norm=norm,
        run=dict(use='model.stack:Unrolled'),
        block=dict(
            use='block.pre_norm:PreNorm',
            norm=norm,
            mixer=dict(
                use='attention.multi_head:MultiHead',
                heads=heads,
                bias=True,
                output_bias=True,
                kernel=dict(use='attention.plain:Plain'),
                mask=dict(use='ops.mask:Full'),
                position=dict(use='position.none:NoPosition'),
            ),
            feedforward=dict(use='feedforward.mlp:MLP', activation=dict(use='ops.activation:gelu'), ratio=4.0),
        ),
        heads=dict(pooled=dict(use='head.pooled:Pooled', classes=classes, pool=dict(use='ops.pool:first'))),
    )
    return config
