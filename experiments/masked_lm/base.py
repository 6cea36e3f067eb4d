# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of the masked language models: BERT's encoder, its pretraining and its data.

An experiment imports it with `from .base import ...` and gives the sizes. By default it trains on the documentation of
the Python that runs it: nothing is downloaded. Members of the family (RoBERTa, ALBERT, ELECTRA ...) change fields
    after.
"""

from typing import Any

from ml_collections import ConfigDict, FieldReference
from ml_collections.config_dict import placeholder
from saccade.experiments.run_settings import settings

NORMAL = dict(use='jax.nn.initializers:normal', stddev=0.02)
GELU = dict(use='ops.activation:gelu')
TANH = dict(use='jax.numpy:tanh')
NORM = dict(use='norm.layer:LayerNorm', epsilon=1e-12)
NO_POSITION = dict(use='position.none:NoPosition')
STARTS = dict(kernel_init=NORMAL, output_init=NORMAL)

MASKED = dict(use='head.masked:Masked', activation=GELU, norm=NORM, kernel_init=NORMAL)
POOLED = dict(use='head.pooled:Pooled', pool=dict(use='ops.pool:first'), activation=TANH, kernel_init=NORMAL)


def bert_block(heads: Any, dropout: Any, ratio: Any = 4.0) -> dict[str, Any]:
    """Return a layer of BERT: post-norm, biases everywhere, GELU."""
    return dict(
        use='block.post_norm:PostNorm',
        norm=NORM,
        mixer=dict(
            use='attention.multi_head:MultiHead',
            heads=heads,
            kernel=dict(use='attention.plain:Plain', dropout=dropout),
            mask=dict(use='ops.mask:Full'),
            position=NO_POSITION,
            bias=True,
            output_bias=True,
            dropout=dropout,
            **STARTS,
        ),
        feedforward=dict(use='feedforward.mlp:MLP', activation=GELU, ratio=ratio, bias=True, dropout=dropout, **STARTS),
    )


def masked_lm(vocabulary: FieldReference, context_length: FieldReference, **model: Any) -> ConfigDict:
    """Return an experiment with an encoder of these fields; the data share its context length and vocabulary."""
    config = settings(steps=1000)
    config.eval_batches = 20
    config.task = dict(
        use='task.masked_lm:MaskedLM',
        share=0.15,
        choose=dict(use='ops.masking:choose_tokens'),
        hidden=0.8,
        noise=0.1,
        static=False,
    )
    config.data = dict(
        use='data.encoder.passages:Passages',
        name='pydocs',
        path=placeholder(str),
        divide='',
        context_length=context_length,
        copies=1,
        pairing=dict(use='data.encoder.pairing:NextSentence'),
        tokenizer=dict(use='data.tokenizer.word_piece:WordPiece', vocabulary=vocabulary),
    )
    config.model = (
        dict(
            use='model.encoder:Encoder',
            vocabulary=vocabulary,
            context_length=context_length,
            types=2,
            passes=1,
            embedding_width=None,
            embedding_norm=NORM,
            embedding_init=NORMAL,
            position=dict(use='position.learned:Learned', length=context_length),
            norm=dict(use='norm.none:NoNorm'),
            run=dict(use='model.stack:Unrolled'),
            heads=dict(masked=MASKED, pooled=POOLED | dict(classes=2)),
        )
        | model
    )
    config.schedule.floor = 1e-4
    config.sample = dict(use='decode.fill:Filled', text='The [MASK] argument must be a [MASK].')
    config.baseline = dict(use='data.encoder.passages:unigram_nats')
    return config
