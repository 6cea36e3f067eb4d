# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base model of the sweeps over attention and positions, small enough to be trained a hundred times.

    python launch/sweep.py --config=experiments/causal_lm/comparison.py --sweep=experiments/sweeps/attention.py \
        --workdir=runs/attention --jobs=2

Rows are windows of the concatenated documents, so longer rows have longer contexts. The learning rate is constant and
decays at the end, which was the best schedule for 240 steps (README, learning rate by schedule). Tokens are bytes. A
variant that does not beat a bigram model of the same bytes has learned nothing from attention.
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.causal_lm.base import causal_lm


def get_config() -> ConfigDict:
    vocabulary, context_length = FieldReference(257), FieldReference(64)
    by_inputs = dict(use='jax.nn.initializers:lecun_normal')
    starts = dict(kernel_init=by_inputs, output_init=by_inputs)
    norm = dict(use='norm.rms:RMSNorm')

    config = causal_lm(
        vocabulary=vocabulary,
        context_length=context_length,
        width=128,
        layers=2,
        tied=True,
        norm=norm,
        block=dict(
            use='block.pre_norm:PreNorm',
            norm=norm,
            mixer=dict(
                use='attention.multi_head:MultiHead',
                heads=4,
                kernel=dict(use='attention.plain:Plain'),
                mask=dict(use='ops.mask:Causal'),
                position=dict(use='position.rotary:Rotary', base=10000.0),
                key_value_heads=4,
                head_norm=None,
                gate=None,
                terms=(),
                **starts,
            ),
            feedforward=dict(
                use='feedforward.gated:Gated',
                activation=dict(use='jax.nn:silu'),
                ratio=8 / 3,
                **starts,
            ),
        ),
    )
    steps = config.get_ref('steps')
    config.steps = 300
    config.log_every = 50
    config.eval_every = 150
    config.eval_batches = 40
    config.checkpoint_every = 150
    config.data.tokenizer = dict(use='data.tokenizer.byte:Byte')
    config.data.pack = dict(use='data.rows.pack:Windows')
    config.schedule = dict(use='train.schedule:WarmupStableDecay', peak=4e-3, warmup=steps // 16, decay=steps // 4)
    config.sample = None
    config.baseline = dict(use='baseline.ngram:bigram_nats')
    return config
