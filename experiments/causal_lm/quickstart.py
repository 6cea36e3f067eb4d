# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A small language model of the Python documentation on this very machine: what `make train` runs.

    python launch/train.py --config=experiments/causal_lm/quickstart.py --workdir=runs/quickstart

Nothing is downloaded: the text is the documentation topics and docstrings of the Python that runs it.
"""

from ml_collections import ConfigDict, FieldReference
from ml_collections.config_dict import placeholder


def get_config() -> ConfigDict:
    steps, vocabulary, context = FieldReference(800), FieldReference(512), FieldReference(128)
    layers, width = FieldReference(4), FieldReference(192)
    normal = dict(use='jax.nn.initializers:normal', stddev=0.02)
    residual = dict(use='jax.nn.initializers:normal', stddev=0.02 / (2 * layers) ** 0.5)
    norm = dict(use='norm.rms:RMSNorm')

    config = ConfigDict()
    config.seed = 0
    config.steps = steps
    config.batch_size = 16
    config.log_every = 50
    config.eval_every = 200
    config.eval_batches = 10
    config.checkpoint_every = 200
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
        name='pydocs',
        path=placeholder(str),
        context=context,
        tokenizer=dict(use='data.tokenizer:BPE', vocabulary=vocabulary),
        pack=dict(use='data.pack:Packed'),
    )
    config.model = dict(
        use='model.decoder:Decoder',
        vocabulary=vocabulary,
        context=context,
        width=width,
        layers=layers,
        tied=True,
        dropout=0.0,
        run=dict(use='model.stack:Unrolled'),
        embedding_init=normal,
        position=dict(use='position.none:NoPosition'),
        shared=None,
        norm=norm,
        block=dict(
            use='block.pre_norm:PreNorm',
            norm=norm,
            mixer=dict(
                use='attention.multi_head:MultiHead',
                heads=6,
                kernel=dict(use='attention.plain:Plain'),
                mask=dict(use='ops.mask:Causal'),
                position=dict(use='position.rotary:Rotary', base=10000.0),
                kernel_init=normal,
                output_init=residual,
            ),
            feedforward=dict(
                use='feedforward.gated:Gated',
                activation=dict(use='jax.nn:silu'),
                ratio=8 / 3,
                kernel_init=normal,
                output_init=residual,
            ),
        ),
    )
    config.optimizer = dict(
        use='train.optimizer:Optimizer',
        rule=dict(use='optax:scale_by_adam', b1=0.9, b2=0.95),
        weight_decay=0.1,
        clip_norm=1.0,
    )
    config.schedule = dict(use='train.schedule:Cosine', peak=3e-3, floor=3e-4, warmup=steps // 12)
    config.sample = dict(use='decode.sample:Sample', prompt='', tokens=60, temperature=0.8)
    config.baseline = dict(use='data.ngram:trigram_nats')
    return config
