# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of the translation experiments: the encoder-decoder Transformer of Vaswani et al. 2017, in any size.

An experiment imports it with `from .base import ...` and gives the sizes. Each size is one reference in the config, so
`--config.model.decoder.width=256` changes the encoder's width too.
"""

from typing import Any

from ml_collections import FieldReference

XAVIER = dict(use='jax.nn.initializers:xavier_uniform')
STARTS = dict(kernel_init=XAVIER, output_init=XAVIER)
NORM = dict(use='norm.layer:LayerNorm')
NO_NORM = dict(use='norm.none:NoNorm')
NO_POSITION = dict(use='position.none:NoPosition')
RELU = dict(use='jax.nn:relu')
CAUSAL, FULL = dict(use='ops.mask:Causal'), dict(use='ops.mask:Full')


def transformer(
    vocabulary: Any,
    source_context_length: Any,
    context_length: Any,
    width: Any,
    heads: Any,
    layers: Any,
    dropout: Any,
    ratio: Any = 4.0,
    source_vocabulary: Any = None,
    pre_norm: bool = False,
) -> dict[str, Any]:
    """Return the model: post-norm, sinusoids, ReLU, one embedding for both sides and the output, as in the paper.

    Args:
        source_context_length, context_length: maximum length of the source and of the target, in tokens.
        dropout: rate for each branch, the embedded tokens and the attention weights, as in the authors' code.
        source_vocabulary: size of a separate source vocabulary; then only the decoder is tied.
        pre_norm: norms before the branches, and one after each tower; needs no warm-up.
    """
    width, heads, dropout = reference(width), reference(heads), reference(dropout)
    use = 'block.pre_norm:PreNorm' if pre_norm else 'block.post_norm:PostNorm'
    tower = dict(
        width=width,
        layers=reference(layers),
        dropout=dropout,
        embedding_scale=width.to_float() ** 0.5,
        embedding_init=dict(use='jax.nn.initializers:normal', stddev=width.to_float() ** -0.5),
        position=dict(use='position.sinusoid:Sinusoid'),
        norm=NORM if pre_norm else NO_NORM,
        run=dict(use='model.stack:Unrolled'),
        shared=None,
    )
    inwards = feedforward(reference(ratio), dropout)
    reads = dict(use=use, norm=NORM, mixer=attention(FULL, heads, dropout), feedforward=inwards)
    writes = dict(reads, mixer=attention(CAUSAL, heads, dropout), cross=attention(FULL, heads, dropout))
    return dict(
        use='model.encoder_decoder:EncoderDecoder',
        shared_embedding=source_vocabulary is None,
        encoder=dict(
            use='model.encoder:Encoder',
            vocabulary=vocabulary if source_vocabulary is None else source_vocabulary,
            context_length=source_context_length,
            block=reads,
            **tower,
        ),
        decoder=dict(
            use='model.decoder:Decoder',
            vocabulary=vocabulary,
            context_length=context_length,
            block=writes,
            tied=True,
            **tower,
        ),
    )


def reference(value: Any) -> FieldReference:
    """Return a reference to a value; a reference is returned unchanged."""
    return value if isinstance(value, FieldReference) else FieldReference(value)


def attention(mask: dict[str, Any], heads: Any, dropout: Any) -> dict[str, Any]:
    """Return multi-head attention without biases."""
    return dict(
        use='attention.multi_head:MultiHead',
        heads=heads,
        kernel=dict(use='attention.plain:Plain', dropout=dropout),
        mask=mask,
        position=NO_POSITION,
        dropout=dropout,
        **STARTS,
    )


def feedforward(ratio: Any, dropout: Any) -> dict[str, Any]:
    """Return two linear maps with biases, and ReLU between them."""
    return dict(use='feedforward.mlp:MLP', activation=RELU, ratio=ratio, dropout=dropout, **STARTS)
