# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Induction by one layer of attention and by two, without feed-forward layers, on random tokens that repeat.

    python launch/sweep.py --config=experiments/diagnostics/recall.py --sweep=experiments/sweeps/induction.py \\
        --workdir=runs/induction --jobs=2

Olsson et al. 2022, "In-context Learning and Induction Heads", https://arxiv.org/abs/2209.11895: two layers learn to
continue a sequence as it went on before, one layer does not. `launch/claims.py --what=induction` looks for the heads.
"""

from typing import Any

REPEATED = {
    'data.generator': dict(use='data.diagnostic.copying:Repetition', symbols=32, least=8, most=16),
    'data.validation': 400,
    'model.vocabulary': 32,
    'model.context_length': 32,
    'model.block.feedforward': None,
    'model.embedding_init': dict(use='jax.nn.initializers:normal', stddev=1.0),
    'schedule.peak': 3e-3,
    'steps': 600,
    'eval_every': 100,
    'checkpoint_every': 600,
}


def get_sweep() -> dict[str, Any]:
    points = [{'name': f'layers_{layers}', 'model.layers': layers, **REPEATED} for layers in (1, 2)]
    return dict(runs=dict(list=points), seeds=5, metric='loss')
