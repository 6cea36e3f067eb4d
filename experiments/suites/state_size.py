# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Size of the state and recall: 16, 32 and 64 pairs, and states of 8, 16 and 32 features a head.

    python launch/suite.py --suite=experiments/suites/state_size.py --workdir=runs/state_size --jobs=2

The protocol is docs/results/protocol.md. All runs have one learning rate, and stop when 99% of the answers are right on
400 rows, or at 1,200 steps.
"""

from typing import Any

BUDGET, EVERY = 1200, 100  # steps of a run, and between its evaluations


def get_suite() -> dict[str, Any]:
    return {f'pairs{pairs}': task(pairs) for pairs in (16, 64, 32)}  # 64 decides


def task(pairs: int) -> dict[str, Any]:
    """Return a sweep over states on rows of four tokens a pair."""
    recall = dict(use='data.diagnostic.recall:MultiQueryRecall', vocabulary=256, pairs=pairs, spread=1.0)
    return dict(
        config='experiments/diagnostics/recall.py',
        sweep='experiments/sweeps/state_size.py',
        fields={
            'batch_size': 32,
            'steps': BUDGET,
            'eval_every': EVERY,
            'checkpoint_every': BUDGET,
            'stop_at': {'accuracy': 0.99},
            'schedule.peak': 3e-3,
            'model.context_length': 4 * pairs,
            'model.vocabulary': 256,
            'data.generator': recall,
            'data.validation': 400,
        },
    )
