# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The config as it is, with three seeds: how far is a figure from itself?

    python launch/sweep.py --config=experiments/diagnostics/recall_zoology.py \\
        --sweep=experiments/sweeps/seeds.py --workdir=runs/recall
    python launch/report.py --workdir=runs/recall --metric=accuracy
"""


def get_sweep() -> dict:
    return dict(runs=dict(list=[{'name': 'as_it_is'}]), seeds=3)
