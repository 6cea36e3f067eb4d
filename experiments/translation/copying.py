# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Copying of long sequences by a recurrent model, with attention or without.

    python launch/train.py --config=experiments/translation/copying.py --workdir=runs/copying \\
        --config.data.generator.longest=50
    python launch/train.py --config=experiments/translation/copying.py --workdir=runs/copying_fixed \\
        --config.model.decoder="{'use': 'recurrent.decoder.fixed_context:FixedContext', 'fed': True, 'layers': 1,
            'cell': {'use': 'recurrent.cell.lstm:LSTM', 'width': 64}}"

For long sequences, start from a run on shorter ones, with a few hundred steps each: 20, 40, 70, 120, 200 symbols.

    python launch/train.py --config=experiments/translation/copying.py --workdir=runs/copying40 \\
        --config.init_from=runs/copying20 --config.data.generator.longest=40 --config.schedule.peak=2e-3

All sequences have one length, `data.generator.longest`, shared by rows and model. The capacity of a fixed-length
context vector is limited (Cho et al. 2014, https://arxiv.org/abs/1409.1259): see experiments/sweeps/bottleneck.py.
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.translation import generated
from saccade.experiments.translation.recurrent import recurrent


def get_config() -> ConfigDict:
    length = FieldReference(20)
    attention = dict(use='recurrent.decoder.soft:Soft', score=dict(use='recurrent.score.general:General'))

    config = generated.get_config()
    config.data.generator = dict(use='data.synthetic.sequences:Copy', symbols=10, shortest=length, longest=length)
    config.data.train = 50_000
    config.data.source_context_length = length + 1
    config.data.context_length = length + 1
    config.model = recurrent(
        vocabulary=config.data.tokenizer.get_ref('vocabulary'),
        context_length=config.data.get_ref('context_length'),
        source_context_length=config.data.get_ref('source_context_length'),
        width=64,
        decoder=dict(use='recurrent.decoder.luong:Luong', attention=attention, input_feeding=False),
        dropout=0.0,
    )
    config.steps = 1000
    config.eval_every = 250
    config.schedule.peak = 5e-3
    return config
