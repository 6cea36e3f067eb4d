# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A small Mamba-2: only state space layers, without attention, positions or feed-forward layers.

    python launch/train.py --config=experiments/causal_lm/mamba2_tiny.py --workdir=runs/mamba2

Dao, Gu 2024, "Transformers are SSMs", section 9.1, https://arxiv.org/abs/2405.21060. Heads of values share one head of
queries and keys; the decoding state has a fixed size, plus three tokens for the short convolution. Mamba-2 130M, with
128,989,632 parameters, is

    --config.model.vocabulary=50288 --config.model.context_length=2048 --config.model.width=768 \\
    --config.model.layers=24 --config.model.block.mixer.heads=24 --config.model.block.mixer.head_width=128 \\
    --config.model.block.mixer.value_width=64
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.causal_lm.base import causal_lm, starts


def get_config() -> ConfigDict:
    layers, vocabulary, context_length = FieldReference(4), FieldReference(1024), FieldReference(128)
    norm = dict(use='norm.rms:RMSNorm', epsilon=1e-5)

    return causal_lm(
        vocabulary=vocabulary,
        context_length=context_length,
        width=128,
        layers=layers,
        tied=True,
        norm=norm,
        block=dict(
            use='block.pre_norm:PreNorm',
            norm=norm,
            mixer=dict(
                use='attention.mamba2:Mamba2',
                heads=8,
                head_width=32,
                value_width=32,
                chunk=64,
                convolution=dict(use='recurrent.mixer.convolution:Convolution', size=4, depthwise=True),
                output_norm=norm,
                **starts(layers),
            ),
            feedforward=None,
        ),
    )
