# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of the experiments on images and captions: two towers whose heads project into a shared space."""

from dataclasses import dataclass
from typing import Any

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.run_settings import settings

WORD_PIECE = dict(use='data.tokenizer.word_piece:WordPiece', lowercase=True)


@dataclass(frozen=True)
class Size:
    """Size of a tower. Attributes: width; layers; heads of its attention."""

    width: int
    layers: int
    heads: int


@dataclass(frozen=True)
class Inputs:
    """Inputs of the towers. Attributes: side and patch of images, in pixels; vocabulary and context of captions."""

    side: int
    patch: int
    vocabulary: FieldReference
    context_length: FieldReference


def shapes(task: dict[str, Any], **model: Any) -> ConfigDict:
    """Return a run of a small ViT and a small causal text encoder on generated shapes. Args: model, other fields."""
    inputs = Inputs(side=32, patch=8, vocabulary=FieldReference(320), context_length=FieldReference(16))
    small = Size(width=64, layers=2, heads=4)

    config = dual_encoder(task, inputs, image=small, text=small, shared=64, **model)
    config.data = dict(
        use='data.synthetic.shapes:Shapes',
        tokenizer=WORD_PIECE | dict(vocabulary=inputs.vocabulary),
        context_length=inputs.context_length,
    )
    return config


def dual_encoder(
    task: dict[str, Any], inputs: Inputs, image: Size, text: Size, shared: int, **model: Any
) -> ConfigDict:
    """Return a run of a ViT and a causal text encoder, without its data.

    Args:
        shared: width of the shared embedding space.
        model: other fields of the model.
    """
    head, side = dict(use='head.pooled:Pooled', classes=FieldReference(shared), bias=False), inputs.side // inputs.patch
    patches = dict(use='embed.patch:PatchEmbedding', patch=inputs.patch)

    config = settings(steps=1500)
    config.batch_size = 64
    config.eval_every = 500
    config.schedule.peak = 1e-3
    config.optimizer.weight_decay = 0.1
    config.task = task
    config.model = dict(
        use='model.dual_encoder:DualEncoder',
        image=_tower(image, 'Full')
        | dict(
            context_length=side * side + 1,
            embed=dict(use='embed.class_token:ClassToken', embed=patches),
            position=dict(use='position.learned_grid:LearnedGrid', rows=side, columns=side, before=1),
            heads=dict(pooled=head | dict(pool=dict(use='ops.pool:first'))),
        ),
        text=_tower(text, 'Causal')
        | dict(
            vocabulary=inputs.vocabulary,
            context_length=inputs.context_length,
            position=dict(use='position.learned:Learned', length=inputs.context_length),
            heads=dict(pooled=head | dict(pool=dict(use='ops.pool:last'))),
        ),
        **model,
    )
    return config


def _tower(size: Size, mask: str) -> dict[str, Any]:
    """Return the common fields of both towers. Args: mask of the attention."""
    norm = dict(use='norm.layer:LayerNorm')
    return dict(
        use='model.encoder:Encoder',
        width=size.width,
        layers=size.layers,
        norm=norm,
        run=dict(use='model.stack:Unrolled'),
        block=dict(
            use='block.pre_norm:PreNorm',
            norm=norm,
            mixer=dict(
                use='attention.multi_head:MultiHead',
                heads=size.heads,
                bias=True,
                output_bias=True,
                kernel=dict(use='attention.plain:Plain'),
                mask=dict(use=f'ops.mask:{mask}'),
                position=dict(use='position.none:NoPosition'),
            ),
            feedforward=dict(use='feedforward.mlp:MLP', activation=dict(use='ops.activation:gelu'), ratio=4.0),
        ),
    )
