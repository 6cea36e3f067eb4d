# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
r"""Sweep over poolings of a set, the mean, the maximum and attention (PMA), for three encoders of its members.

    python launch/sweep.py --config=experiments/sets/largest.py --sweep=experiments/sweeps/pooling_of_sets.py \
        --workdir=runs/pooling_of_sets

The encoders: every member by itself, attention among members (SAB), and through inducing points (ISAB). Lee et al.
2019, "Set Transformer", table 1, https://arxiv.org/abs/1810.00825: on the largest number of a set the maximum over
members by themselves is best, attention with PMA close to it, and the mean far behind.
"""

from saccade.experiments.sets.largest import SET_ATTENTION


def get_sweep() -> dict:
    encoders = dict(
        alone=SET_ATTENTION | dict(mask=dict(use='ops.mask:Window', left=0, right=0)),
        attention=SET_ATTENTION,
        induced=dict(use='attention.induced:Induced', points=4, mixer=SET_ATTENTION),
    )
    poolings = dict(
        mean=dict(use='head.pooled:Pooled', pool=dict(use='ops.pool:mean'), classes=1),
        maximum=dict(use='head.pooled:Pooled', pool=dict(use='ops.pool:maximum'), classes=1),
        attention=dict(use='head.attention_pooled:AttentionPooled', mixer=SET_ATTENTION, queries=1, classes=1),
    )
    points = [
        {'name': f'{encoder}_{pooling}', 'model.block.mixer': mixer, 'model.heads.pooled': head}
        for encoder, mixer in encoders.items()
        for pooling, head in poolings.items()
    ]
    return dict(runs=dict(list=points), seeds=5, metric='loss')
