# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Recall by two layers of attention, trained until it is solved: 40 minutes a run on one core at most.

    python launch/sweep.py --config=experiments/diagnostics/recall_zoology.py \\
        --sweep=experiments/sweeps/two_layers.py --workdir=runs/two_layers --jobs=2

Arora et al. 2023, "Zoology", figure 2, https://arxiv.org/abs/2312.04927: two layers of attention solve 4 pairs of 8,192
tokens in 64 within 12,500 steps of 512 rows. Here a run sees at most a third of these rows; three seeds needed a
twentieth, 3,000 to 4,500 steps of 64.
"""

from typing import Any

STEPS, DECAY = 30_000, 5_000


def get_sweep() -> dict[str, Any]:
    run = {
        'name': 'attention_2',
        'steps': STEPS,
        'stop_at': {'accuracy': 0.99},
        'data.train': 64 * STEPS,
        'schedule.decay': DECAY,
    }
    return dict(runs=dict(list=[run]), seeds=3, metric='accuracy')
