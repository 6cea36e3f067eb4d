# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A Llama of a million parameters: RMS norms, rotary positions, SwiGLU, grouped heads, nothing tied, no biases.

    python launch/train.py --config=experiments/causal_lm/llama_tiny.py --workdir=runs/llama

Touvron et al. 2023, https://arxiv.org/abs/2302.13971; the heads share keys and values as in Llama 2 and 3. It trains on
a laptop's CPU in minutes, on the documentation of the Python that runs it: nothing is downloaded. Widths follow from
`model.width`, so it grows by a few overrides:

    --config.model.width=512 --config.model.layers=8 --config.model.block.mixer.heads=8
"""

from ml_collections import ConfigDict, FieldReference
from ml_collections.config_dict import placeholder


def get_config() -> ConfigDict:
    layers, vocabulary, context = FieldReference(4), FieldReference(1024), FieldReference(128)
    normal = dict(use='jax.nn.initializers:normal', stddev=0.02)
    residual = dict(use='jax.nn.initializers:normal', stddev=0.02 / (2 * layers) ** 0.5)
    norm = dict(use='norm.rms:RMSNorm', epsilon=1e-5)

    config = ConfigDict()
    config.seed = 0
    config.steps = 1000
    config.batch_size = 16
    config.log_every = 20
    config.eval_every = 250
    config.eval_batches = 10
    config.checkpoint_every = 250
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
        width=128,
        layers=layers,
        tied=False,
        run=dict(use='model.stack:Unrolled'),
        embedding_init=normal,
        head_init=normal,
        position=dict(use='position.none:NoPosition'),
        shared=None,
        norm=norm,
        block=dict(
            use='block.pre_norm:PreNorm',
            norm=norm,
            mixer=dict(
                use='attention.multi_head:MultiHead',
                heads=4,
                key_value_heads=2,
                kernel=dict(use='attention.plain:Plain', dropout=0.0),
                mask=dict(use='ops.mask:Causal'),
                position=dict(use='position.rotary:Rotary', base=10000.0),
                bias=False,
                output_bias=False,
                kernel_init=normal,
                output_init=residual,
            ),
            feedforward=dict(
                use='feedforward.gated:Gated',
                activation=dict(use='jax.nn:silu'),
                ratio=8 / 3,
                bias=False,
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
    config.schedule = dict(use='train.schedule:Cosine', peak=3e-3, floor=3e-4, warmup=50)
    config.sample = dict(use='decode.sample:Sample', prompt='', tokens=60, temperature=0.8)
    return config
