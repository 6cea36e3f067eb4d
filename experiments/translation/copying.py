# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Copying of sequences by a recurrent model, with attention or without.

    python launch/train.py --config=experiments/translation/copying.py --workdir=runs/copying \\
        --config.data.generator.longest=50 --config.eval_lengths="(11, 26, 51)"
    python launch/train.py --config=experiments/translation/copying.py --workdir=runs/copying_fixed \\
        --config.model.decoder="{'use': 'recurrent.decoder.fixed_context:FixedContext', 'fed': True, 'layers': 1,
            'cell': {'use': 'recurrent.cell.lstm:LSTM', 'width': 64}}"

Sequences have 1 to `data.generator.longest` symbols, each doubling as often: short ones are learned first, and long
ones from them. With a single length of 50 or more, attention learns nothing for long. `eval_lengths`, in tokens, with
one more than there are symbols for the end, gives the accuracy of each length. The capacity of a fixed-length context
vector is limited (Cho et al. 2014, https://arxiv.org/abs/1409.1259): see experiments/sweeps/bottleneck.py.
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.translation import generated
from saccade.experiments.translation.recurrent import recurrent


def get_config() -> ConfigDict:
    length = FieldReference(20)
    attention = dict(use='recurrent.decoder.soft:Soft', score=dict(use='recurrent.score.general:General'))

    config = generated.get_config()
    config.data.generator = dict(
        use='data.synthetic.sequences:Copy', symbols=10, shortest=1, longest=length, doublings=True
    )
    config.data.train = 50_000
    config.data.source_context_length = length + 1
    config.data.context_length = length + 1
    config.model = recurrent(
        vocabulary=config.data.tokenizer.get_ref('vocabulary'),
        context_length=config.data.get_ref('context_length'),
        source_context_length=config.data.get_ref('source_context_length'),
        width=64,
        decoder=dict(use='recurrent.decoder.luong:Luong', attention=attention, input_feeding=True),
        dropout=0.0,
    )
    config.steps = 1000
    config.eval_every = 250
    config.schedule.peak = 5e-3
    config.sample = dict(use='decode.translator:Translated', text='3 1 4 1 5 9 2 6')
    return config
