# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A small xLSTM: blocks of an mLSTM and a gated feed-forward layer, without attention or positions.

    python launch/train.py --config=experiments/causal_lm/xlstm_tiny.py --workdir=runs/xlstm

Beck et al. 2025, "xLSTM 7B: A Recurrent LLM for Fast and Efficient Inference", section 3,
https://arxiv.org/abs/2503.13427. Queries and keys are half as wide as values, and gates and logits are capped. The
decoding state has a fixed size. xLSTM 7B, with 6,865,424,896 parameters, is

    --config.model.vocabulary=50304 --config.model.context_length=8192 --config.model.width=4096 \\
    --config.model.layers=32 --config.model.block.mixer.heads=8 --config.model.block.mixer.head_width=256 \\
    --config.model.block.mixer.value_width=512 --config.model.block.feedforward.width=10944
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.causal_lm.base import NORMAL, causal_lm, starts


def get_config() -> ConfigDict:
    layers, vocabulary, context_length = FieldReference(4), FieldReference(1024), FieldReference(128)
    heads = FieldReference(4)
    norm = dict(use='norm.rms:RMSNorm', epsilon=1e-6)

    return causal_lm(
        vocabulary=vocabulary,
        context_length=context_length,
        width=128,
        layers=layers,
        tied=False,
        head_init=NORMAL,
        logit_cap=30.0,
        norm=norm,
        block=dict(
            use='block.pre_norm:PreNorm',
            norm=norm,
            mixer=dict(
                use='attention.mlstm:MLSTM',
                heads=heads,
                head_width=16,
                value_width=32,
                gate_cap=15.0,
                chunk=64,
                head_norm=None,
                merged_norm=dict(use='norm.group:GroupNorm', groups=heads, epsilon=1e-6, bias=False),
                **starts(layers),
            ),
            feedforward=dict(
                use='feedforward.gated:Gated',
                activation=dict(use='jax.nn:silu'),
                width=320,
                **starts(layers),
            ),
        ),
    )
