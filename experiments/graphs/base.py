# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The model of the experiments on graphs: an encoder without positions, whose mean of all frames is classified.

Kim et al. 2022, "Pure Transformers are Powerful Graph Learners", https://arxiv.org/abs/2207.02505. There a token of its
own is classified; a mean needs none.
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.run_settings import settings


def graph_transformer(
    steps: int, context_length: int, classes: int
) -> tuple[ConfigDict, FieldReference, FieldReference]:
    """Return the config of a classifier of graphs, less its data, and the two sizes that these share with the model.

    Args:
        context_length: frames of a row.
        classes: of graphs.
    """
    context_length, classes = FieldReference(context_length), FieldReference(classes)
    norm = dict(use='norm.layer:LayerNorm')
    config = settings(steps=steps)
    config.eval_every = 100
    config.checkpoint_every = 100
    config.schedule.peak = 1e-3
    config.task = dict(use='task.classification:Classification', augment=[dict(use='augment.sign_flip:SignFlip')])
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
