# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A small language model in muP: tune the learning rate at the base width, and use it at any other width.

    python launch/train.py --config=experiments/causal_lm/mup.py --workdir=runs/mup --config.model.width=256

Yang et al. 2022, "Tensor Programs V", table 8, https://arxiv.org/abs/2203.03466: see `saccade.train.mup`. Everything
that depends on the width follows from `model.width` and `optimizer.rates.base_width`; if both are equal, this is the
standard parametrisation at that width. `experiments/sweeps/mup.py` compares the two.
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.causal_lm.base import causal_lm


def get_config() -> ConfigDict:
    vocabulary, context_length = FieldReference(512), FieldReference(128)
    width, base_width, heads = FieldReference(64), FieldReference(64), FieldReference(4)
    by_inputs = dict(use='jax.nn.initializers:lecun_normal')
    norm = dict(use='norm.rms:RMSNorm')

    config = causal_lm(
        vocabulary=vocabulary,
        context_length=context_length,
        width=width,
        layers=4,
        tied=True,
        logit_scale=base_width.to_float() / width,
        norm=norm,
        block=dict(
            use='block.pre_norm:PreNorm',
            norm=norm,
            mixer=dict(
                use='attention.multi_head:MultiHead',
                heads=heads,
                kernel=dict(use='attention.plain:Plain'),
                mask=dict(use='ops.mask:Causal'),
                position=dict(use='position.rotary:Rotary', base=10000.0),
                kernel_init=by_inputs,
                output_init=by_inputs,
                # As a function of the head width H: 1 / sqrt(H) at the base width, and proportional to 1 / H elsewhere.
                scale=(base_width * heads).to_float() ** 0.5 / width,
            ),
            feedforward=dict(
                use='feedforward.gated:Gated',
                activation=dict(use='jax.nn:silu'),
                ratio=8 / 3,
                kernel_init=by_inputs,
                output_init=by_inputs,
            ),
        ),
    )
    config.optimizer.rates = dict(use='train.mup:MuP', base_width=base_width)
    return config
