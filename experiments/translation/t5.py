# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""T5 in all sizes and versions: RMS pre-norm, no biases, one table of relative positions per tower.

Raffel et al. 2020, "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer", section 2.1,
https://arxiv.org/abs/1910.10683. Initialisation follows the authors' code: scores are not scaled, so queries start
smaller by the square root of the head width. An experiment imports it with `from .t5 import ...`.
"""

from typing import Any

from saccade.experiments.translation.base import CAUSAL, FULL, NO_POSITION, RELU, reference

NORM = dict(use='norm.rms:RMSNorm', epsilon=1e-6)
GELU = dict(use='jax.nn:gelu', approximate=True)


def by_inputs(scale: Any) -> dict[str, Any]:
    """Return an initialiser of variance scale / (number of inputs)."""
    return dict(use='jax.nn.initializers:variance_scaling', scale=scale, mode='fan_in', distribution='normal')


STARTS = dict(kernel_init=by_inputs(1.0), output_init=by_inputs(1.0))


def t5(
    vocabulary: Any,
    source_context_length: Any,
    context_length: Any,
    width: Any,
    heads: Any,
    layers: Any,
    inner: Any,
    dropout: Any,
    first: bool = True,
    decoder_layers: Any = None,
) -> dict[str, Any]:
    """Return the model.

    Args:
        inner: width of the feed-forward layers. The head width is 64.
        first: version 1.0, with ReLU and logits that are scaled products with the embedding; else version 1.1 (Shazeer
            2020, https://arxiv.org/abs/2002.05202), with gated GELU and an untied output projection.
        decoder_layers: number of decoder layers if it differs from the encoder's, as in ByT5.
    """
    width, dropout, layers, heads = map(reference, (width, dropout, layers, heads))
    root = width.to_float() ** -0.5
    tower = dict(
        vocabulary=vocabulary,
        width=width,
        dropout=dropout,
        embedding_init=dict(use='jax.nn.initializers:normal', stddev=1.0),
        position=NO_POSITION,
        norm=NORM,
        run=dict(use='model.stack:Unrolled'),
    )
    common = dict(ratio=inner / width.to_float(), bias=False, dropout=dropout, **STARTS)
    gated = dict(use='feedforward.gated:Gated', activation=GELU, **common)
    inwards = dict(use='feedforward.mlp:MLP', activation=RELU, **common) if first else gated
    reads = dict(use='block.pre_norm:PreNorm', norm=NORM, mixer=_attention(FULL, heads, dropout), feedforward=inwards)
    writes = dict(reads, mixer=_attention(CAUSAL, heads, dropout), cross=_attention(FULL, heads, dropout))
    return dict(
        use='model.encoder_decoder:EncoderDecoder',
        shared_embedding=True,
        encoder=dict(
            use='model.encoder:Encoder',
            context_length=source_context_length,
            layers=layers,
            block=reads,
            shared=_table(both_sides=True, stddev=root),
            **tower,
        ),
        decoder=dict(
            use='model.decoder:Decoder',
            context_length=context_length,
            layers=layers if decoder_layers is None else decoder_layers,
            block=writes,
            shared=_table(both_sides=False, stddev=root),
            tied=first,
            logit_scale=root if first else 1.0,
            head_init=dict(use='jax.nn.initializers:normal', stddev=root),
            **tower,
        ),
    )


def _attention(mask: dict[str, Any], heads: Any, dropout: Any) -> dict[str, Any]:
    return dict(
        use='attention.multi_head:MultiHead',
        heads=heads,
        head_width=64,
        scale=1.0,
        kernel=dict(use='attention.plain:Plain', dropout=dropout),
        mask=mask,
        position=NO_POSITION,
        dropout=dropout,
        query_init=by_inputs(1 / 64),
        **STARTS,
    )


def _table(both_sides: bool, stddev: Any) -> dict[str, Any]:
    return dict(
        use='position.relative_bias:RelativeBias',
        buckets=32,
        furthest=128,
        both_sides=both_sides,
        table_init=dict(use='jax.nn.initializers:normal', stddev=stddev),
    )
