# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of the visual question answering experiments: span extraction by an encoder of patches and text."""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.run_settings import settings


def image_and_text(
    *, steps: int, image: int, patch: int, text: int, vocabulary: int, width: int, layers: int, heads: int
) -> ConfigDict:
    """Return a run of extractive question answering about square images; the data still need `use` and their source.

    Args:
        image, patch: sides in pixels.
        text: tokens of the question and of the text that accompanies the image, including special tokens.
    """
    image, patch, text, vocabulary = (FieldReference(size) for size in (image, patch, text, vocabulary))
    side = image // patch
    norm = dict(use='norm.layer:LayerNorm')
    spread = dict(use='jax.nn.initializers:normal', stddev=0.5)  # about the scale of an embedded patch

    config = settings(steps=steps)
    config.batch_size = 64
    config.task = dict(use='task.span_qa:SpanQA', longest=30, null=None)
    config.baseline = dict(use='task.span_qa:most_frequent')
    config.model = dict(
        use='model.encoder:Encoder',
        embed=dict(
            use='embed.image_and_text:ImageAndText',
            image=dict(use='embed.patch:PatchEmbedding', patch=patch),
            image_position=dict(use='position.learned_grid:LearnedGrid', rows=side, columns=side, table_init=spread),
            text_position=dict(use='position.learned:Learned', length=text, table_init=spread),
            modal_init=spread,
        ),
        vocabulary=vocabulary,
        types=2,  # the question, and the text with the answer
        context_length=side * side + text,
        width=width,
        layers=layers,
        dropout=0.0,
        embedding_init=spread,
        position=dict(use='position.none:NoPosition'),
        norm=norm,
        run=dict(use='model.stack:Unrolled'),
        block=dict(
            use='block.pre_norm:PreNorm',
            norm=norm,
            mixer=dict(
                use='attention.multi_head:MultiHead',
                heads=heads,
                kernel=dict(use='attention.plain:Plain'),
                mask=dict(use='ops.mask:Full'),
                position=dict(use='position.none:NoPosition'),
            ),
            feedforward=dict(use='feedforward.mlp:MLP', activation=dict(use='jax.nn:gelu'), ratio=4.0),
        ),
        heads=dict(tokens=dict(use='head.each_token:EachToken', classes=2)),
    )
    config.data = dict(
        tokenizer=dict(use='data.tokenizer.word_piece:WordPiece', vocabulary=vocabulary, lowercase=True),
        images=dict(use='data.image.processor:ImageProcessor', size=[image, image], channels=3),
        context_length=text,
    )
    return config
