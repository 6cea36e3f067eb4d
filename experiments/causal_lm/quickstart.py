# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A small language model of the Python documentation on this machine, trained by `make train`.

    python launch/train.py --config=experiments/causal_lm/quickstart.py --workdir=runs/quickstart

Nothing is downloaded: the text is the documentation topics and docstrings of the Python that runs it. base.py has the
other settings of data, optimizer and devices, and the run's config.json has all of them.
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.causal_lm.base import causal_lm, starts


def get_config() -> ConfigDict:
    layers, vocabulary, context_length = FieldReference(4), FieldReference(512), FieldReference(128)
    norm = dict(use='norm.rms:RMSNorm')

    config = causal_lm(
        vocabulary=vocabulary,
        context_length=context_length,  # in tokens
        width=192,
        layers=layers,
        tied=True,  # the output projection shares the embedding
        dropout=0.0,
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
                **starts(layers),
            ),
            feedforward=dict(
                use='feedforward.gated:Gated',
                activation=dict(use='jax.nn:silu'),
                ratio=8 / 3,
                **starts(layers),
            ),
        ),
    )
    config.steps = 800
    config.batch_size = 16  # rows of the context's length
    config.log_every = 50
    config.eval_every = 200
    config.checkpoint_every = 200
    config.schedule.warmup = config.get_ref('steps') // 12
    config.baseline = dict(use='baseline.ngram:trigram_nats')
    return config
