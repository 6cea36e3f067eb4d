# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""GPT-2 small as published, 124,439,808 parameters, with the training settings of nanoGPT.

    python launch/train.py --config=experiments/causal_lm/gpt2_124m.py --workdir=runs/gpt2 --config.data.path=FOLDER

Radford et al. 2019, "Language Models are Unsupervised Multitask Learners"; optimizer, schedule and batch come from
https://github.com/karpathy/nanoGPT, config/train_gpt2.py: 480 rows (half a million tokens) per step, in microbatches of
12 rows on one device (`--config.accumulate=5` on eight). For accelerators, with the attention kernel of the platform:
on an H100 cuDNN's trains it at 2.4 times the speed of the blockwise one. The default corpus is only for trying it
out; for training, use gigabytes of your own text.
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.causal_lm.base import NO_POSITION, causal_lm, starts


def get_config() -> ConfigDict:
    layers, vocabulary, context_length = FieldReference(12), FieldReference(50257), FieldReference(1024)
    dropout, epsilon = FieldReference(0.0), FieldReference(1e-5)
    norm = dict(use='norm.layer:LayerNorm', epsilon=epsilon)

    config = causal_lm(
        vocabulary=vocabulary,
        context_length=context_length,
        width=768,
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
                heads=12,
                kernel=dict(use='attention.auto:Auto', dropout=dropout),
                mask=dict(use='ops.mask:Causal'),
                position=NO_POSITION,
                bias=True,
                output_bias=True,
                dropout=dropout,
                **starts(layers),
            ),
            feedforward=dict(
                use='feedforward.mlp:MLP',
                activation=dict(use='jax.nn:gelu', approximate=True),
                ratio=4.0,
                bias=True,
                dropout=dropout,
                **starts(layers),
            ),
        ),
    )
    config.steps = 600_000
    config.batch_size = 480
    config.accumulate = 40
    config.dtype = 'bfloat16'
    config.log_every = 10
    config.eval_every = 1000
    config.eval_batches = 5
    config.checkpoint_every = 1000
    config.data.pack = dict(use='data.rows.pack:Windows')
    config.schedule = dict(use='train.schedule:Cosine', peak=6e-4, floor=6e-5, warmup=2000)
    config.sample.tokens = 100
    return config
