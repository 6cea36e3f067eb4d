# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""nanoGPT's CPU setting on the characters of tinyshakespeare: a GPT-2 of 0.8 M parameters.

    python launch/train.py --config=experiments/causal_lm/char_shakespeare.py --workdir=runs/char \\
        --config.data.path=tinyshakespeare.txt
    python launch/evaluate.py --workdir=runs/char

Settings: https://github.com/karpathy/nanoGPT, README ("I only have a macbook"), which reports a loss of 1.88 nats per
character as estimated on random windows. Training draws windows at any offset; the loss is over the whole last tenth.
"""

from ml_collections import ConfigDict, FieldReference
from ml_collections.config_dict import placeholder


def get_config() -> ConfigDict:
    layers, context, dropout = FieldReference(4), FieldReference(64), FieldReference(0.0)
    normal = dict(use='jax.nn.initializers:normal', stddev=0.02)
    residual = dict(use='jax.nn.initializers:normal', stddev=0.02 / (2 * layers) ** 0.5)
    norm = dict(use='norm.layer:LayerNorm', bias=False)

    config = ConfigDict()
    config.seed = 0
    config.steps = 2000
    config.batch_size = 12
    config.log_every = 100
    config.eval_every = 500
    config.eval_batches = 20
    config.checkpoint_every = 500
    config.logging = []
    config.backend = 'jit'
    config.mesh = dict(data=-1, fsdp=1, tensor=1)
    config.dtype = 'float32'
    config.accumulate = 1
    config.ema = 0.0
    config.init_from = ''
    config.task = dict(use='task.causal_lm:CausalLM', label_smoothing=0.0)
    config.data = dict(
        use='data.text:TextData',
        name=placeholder(str),
        path='tinyshakespeare.txt',
        context=context,
        tokenizer=dict(use='data.tokenizer:Character', end=placeholder(str)),
        pack=dict(use='data.pack:Windows', stride=1),
    )
    config.model = dict(
        use='model.decoder:Decoder',
        vocabulary=65,
        context=context,
        width=128,
        layers=layers,
        tied=True,
        dropout=dropout,
        run=dict(use='model.stack:Unrolled'),
        embedding_init=normal,
        position=dict(use='position.learned:Learned', length=context),
        shared=None,
        norm=norm,
        block=dict(
            use='block.pre_norm:PreNorm',
            norm=norm,
            mixer=dict(
                use='attention.multi_head:MultiHead',
                heads=4,
                kernel=dict(use='attention.plain:Plain', dropout=dropout),
                mask=dict(use='ops.mask:Causal'),
                position=dict(use='position.none:NoPosition'),
                bias=False,
                output_bias=False,
                dropout=dropout,
                kernel_init=normal,
                output_init=residual,
            ),
            feedforward=dict(
                use='feedforward.mlp:MLP',
                activation=dict(use='jax.nn:gelu', approximate=False),
                ratio=4.0,
                bias=False,
                dropout=dropout,
                kernel_init=normal,
                output_init=residual,
            ),
        ),
    )
    config.optimizer = dict(
        use='train.optimizer:Optimizer',
        rule=dict(use='optax:scale_by_adam', b1=0.9, b2=0.99),
        weight_decay=0.1,
        clip_norm=1.0,
    )
    config.schedule = dict(use='train.schedule:Cosine', peak=1e-3, floor=1e-4, warmup=100, decay_steps=2000)
    config.sample = dict(use='decode.sample:Sample', prompt='', tokens=63, temperature=0.8)
    return config
