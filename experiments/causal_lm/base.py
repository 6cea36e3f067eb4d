# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of the causal language models: run settings, data and initialisers.

An experiment imports it with `from .base import ...` and defines its model. By default, a small model trains
in minutes on a laptop's CPU, on the documentation of the Python that runs it: nothing is downloaded.
"""

from typing import Any

from ml_collections import ConfigDict, FieldReference
from ml_collections.config_dict import placeholder
from saccade.experiments.run_settings import settings

NORMAL = dict(use='jax.nn.initializers:normal', stddev=0.02)
NO_POSITION = dict(use='position.none:NoPosition')


def starts(layers: FieldReference) -> dict[str, Any]:
    """Return the initialisers of a branch, as in GPT-2: the sum of 2 L branches has the same scale at any depth."""
    return dict(kernel_init=NORMAL, output_init=NORMAL | dict(stddev=0.02 / (2 * layers.to_float()) ** 0.5))


def causal_lm(**model: Any) -> ConfigDict:
    """Return an experiment with a decoder of these fields; the data share its context length and vocabulary."""
    config = settings(steps=1000)
    config.batch_size = 16
    config.log_every = 20
    config.eval_every = 250
    config.eval_batches = 10
    config.eval_lengths = []
    config.checkpoint_every = 250
    config.task = dict(use='task.causal_lm:CausalLM', label_smoothing=0.0)
    config.data = dict(
        use='data.text.stream:TextData',
        name='pydocs',
        path=placeholder(str),
        context_length=model['context_length'],
        tokenizer=dict(use='data.tokenizer.bpe:BPE', vocabulary=model['vocabulary']),
        pack=dict(use='data.rows.pack:Packed'),
    )
    config.model = (
        dict(
            use='model.decoder:Decoder',
            run=dict(use='model.stack:Unrolled'),
            embedding_init=NORMAL,
            position=NO_POSITION,
            shared=None,
        )
        | model
    )
    config.optimizer.rule.b2 = 0.95
    config.optimizer.weight_decay = 0.1
    config.schedule.update(peak=3e-3, floor=3e-4)
    config.schedule.warmup = config.get_ref('steps') // 20
    config.sample = dict(use='decode.sample:Sample', prompt='', tokens=60, temperature=0.8)
    return config
