# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Induction by next-token prediction and by multi-token prediction, of two tokens from each place.

    python launch/sweep.py --config=experiments/diagnostics/recall.py --sweep=experiments/sweeps/multi_token.py \\
        --workdir=runs/multi_token --jobs=2

Gloeckle et al. 2024, "Better & Faster Large Language Models via Multi-token Prediction", section 4.1,
https://arxiv.org/abs/2404.19737: at small size, models that predict two tokens are better at induction. The tokens
repeat with a period of 8 to 16, as in sweeps/induction.py. The loss is that of the next token in each variant.
"""

from typing import Any

from saccade.experiments.sweeps.induction import REPEATED

TWO = {
    'model.use': 'model.multi_token:MultiTokenDecoder',
    'task.use': 'task.multi_token:MultiTokenAnswering',
    'task.weight': 1.0,
}


def get_sweep() -> dict[str, Any]:
    shared = {**REPEATED, 'steps': 300, 'eval_every': 50, 'checkpoint_every': 300}
    points = [{'name': 'next_token', **shared}]
    for name, heads in dict(parallel='ParallelHeads', sequential='SequentialHeads').items():
        points.append({'name': name, **TWO, 'model.ahead': dict(use=f'model.multi_token:{heads}'), **shared})
    return dict(runs=dict(list=points), seeds=5, metric='loss')
