# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Permutations of three elements by one layer, with different numbers of updates per token.

    python launch/sweep.py --config=experiments/diagnostics/permutations.py \\
        --sweep=experiments/sweeps/permutations.py --workdir=runs/permutations
    python launch/report.py --workdir=runs/permutations
"""


def get_sweep() -> dict:
    updates = {'two': 2, 'one': 1}
    points = [{'name': name, 'model.block.mixer.updates': count} for name, count in updates.items()]
    return dict(runs=dict(list=points), seeds=5, metric='accuracy')
