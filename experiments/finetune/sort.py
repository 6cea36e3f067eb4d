# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sorting as tagging: the tag of each position is the number at that position of the sorted sequence.

    python launch/train.py --config=experiments/finetune/sort.py --workdir=runs/sort
    python launch/evaluate.py --workdir=runs/sort
    python launch/predict.py --workdir=runs/sort --text="3 1 4 1 5 9 2 6 5 35"

Nothing is downloaded: the sequences are generated.
"""

from ml_collections import ConfigDict, FieldReference
from saccade.experiments.finetune.base import finetune


def get_config() -> ConfigDict:
    length, highest = FieldReference(10), FieldReference(100)
    measure = dict(use='metric.sequence:matched')

    config = finetune(
        task=dict(use='task.tagging:Tagging', measure=measure),
        data=dict(use='data.synthetic.sorting:Sorting', length=length, highest=highest, train=100_000, validation=1000),
        vocabulary=highest + 5,  # numbers, and [PAD], [UNK], [CLS], [SEP], [MASK]
        context_length=length + 2,  # the numbers between [CLS] and [SEP]
        width=64,
        layers=2,
        types=0,
        dropout=FieldReference(0.0),  # too many sequences to be memorised
        heads=dict(tokens=dict(use='head.each_token:EachToken', classes=highest)),
    )
    config.steps = 1500
    config.batch_size = 128
    config.log_every = 100
    config.eval_every = 500
    config.checkpoint_every = 500
    config.schedule.peak = 3e-3
    config.baseline = dict(use='task.tagging:majority', measure=measure)
    return config
