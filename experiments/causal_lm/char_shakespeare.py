# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""nanoGPT's CPU setting on the characters of tinyshakespeare: a GPT-2 of 0.8 M parameters.

    python launch/train.py --config=experiments/causal_lm/char_shakespeare.py --workdir=runs/char \\
        --config.data.path=tinyshakespeare.txt
    python launch/evaluate.py --workdir=runs/char

Settings: https://github.com/karpathy/nanoGPT, README ("I only have a macbook"), which reports a loss of 1.88 nats per
character, estimated on random windows. Training draws windows at any offset; the loss is over the whole last tenth.
"""

from ml_collections import ConfigDict, FieldReference
from ml_collections.config_dict import placeholder
from saccade.experiments.causal_lm.base import NO_POSITION, causal_lm, starts


def get_config() -> ConfigDict:
    layers, context_length, dropout = FieldReference(4), FieldReference(64), FieldReference(0.0)
    norm = dict(use='norm.layer:LayerNorm', bias=False)

    config = causal_lm(
        vocabulary=65,
        context_length=context_length,
        width=128,
        layers=layers,
        tied=True,
        dropout=dropout,
        position=dict(use='position.learned:Learned', length=context_length),
        norm=norm,
        block=dict(
            use='block.pre_norm:PreNorm',
            norm=norm,
            mixer=dict(
                use='attention.multi_head:MultiHead',
                heads=4,
                kernel=dict(use='attention.plain:Plain', dropout=dropout),
                mask=dict(use='ops.mask:Causal'),
                position=NO_POSITION,
                bias=False,
                output_bias=False,
                dropout=dropout,
                **starts(layers),
            ),
            feedforward=dict(
                use='feedforward.mlp:MLP',
                activation=dict(use='ops.activation:gelu'),
                ratio=4.0,
                bias=False,
                dropout=dropout,
                **starts(layers),
            ),
        ),
    )
    config.steps = 2000
    config.batch_size = 12
    config.log_every = 100
    config.eval_every = 500
    config.eval_batches = 20
    config.checkpoint_every = 500
    config.data.name = placeholder(str)
    config.data.path = 'tinyshakespeare.txt'
    config.data.tokenizer = dict(use='data.tokenizer.character:Character', end=placeholder(str))
    config.data.pack = dict(use='data.rows.pack:Windows', stride=1)
    config.optimizer.rule.b2 = 0.99
    config.schedule = dict(use='train.schedule:Cosine', peak=1e-3, floor=1e-4, warmup=100, decay_steps=2000)
    config.sample.tokens = 63
    return config
