# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of the fine-tuning experiments: a small encoder, its training settings and its tokenizer.

An experiment imports it with `from .base import ...` and defines the task, the data and the head. Without `init_from`
the encoder is trained from scratch; it is pre-norm, which learns faster than BERT's post-norm in such short runs.
"""

from typing import Any

from ml_collections import ConfigDict, FieldReference
from ml_collections.config_dict import placeholder
from saccade.experiments.run_settings import settings

NORMAL = dict(use='jax.nn.initializers:normal', stddev=0.02)


def of_records(use: str, vocabulary: FieldReference, lowercase: bool = True, **data: Any) -> dict[str, Any]:
    """Return the data of records, in word pieces. The user gives the records by `name` or `path`."""
    where = dict(name=placeholder(str), path=placeholder(str), validation=0.1)
    tokenizer = dict(use='data.tokenizer.word_piece:WordPiece', vocabulary=vocabulary, lowercase=lowercase)
    return dict(use=use, **where, tokenizer=tokenizer, **data)


def finetune(task: dict[str, Any], data: dict[str, Any], dropout: FieldReference, **model: Any) -> ConfigDict:
    """Return an experiment with an encoder of these fields; the data share its context length."""
    norm = dict(use='norm.layer:LayerNorm')

    config = settings(steps=600)
    config.eval_every = 200
    config.checkpoint_every = 200
    config.init_from = ''  # a run or a Hugging Face directory; also defines the model, except the heads
    config.inherit = 'model'
    config.init_part = ''
    config.adapt = dict(use='train.init.partial:body')
    config.task = task
    config.data = data | dict(context_length=model['context_length'])
    config.model = (
        dict(
            use='model.encoder:Encoder',
            types=2,
            dropout=dropout,
            run=dict(use='model.stack:Unrolled'),
            embedding_init=NORMAL,
            position=dict(use='position.learned:Learned', length=model['context_length']),
            norm=norm,
            block=dict(
                use='block.pre_norm:PreNorm',
                norm=norm,
                mixer=dict(
                    use='attention.multi_head:MultiHead',
                    heads=4,
                    kernel=dict(use='attention.plain:Plain', dropout=dropout),
                    mask=dict(use='ops.mask:Full'),
                    position=dict(use='position.none:NoPosition'),
                    dropout=dropout,
                ),
                feedforward=dict(
                    use='feedforward.mlp:MLP', activation=dict(use='jax.nn:gelu'), ratio=4.0, dropout=dropout
                ),
            ),
        )
        | model
    )
    return config
