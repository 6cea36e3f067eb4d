# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Ratio of the width of the feed-forward layer to that of the model, at equal numbers of parameters.

    python launch/sweep.py --config=experiments/causal_lm/comparison.py \\
        --sweep=experiments/sweeps/feedforward_ratio.py --workdir=runs/feedforward_ratio
    python launch/report.py --workdir=runs/feedforward_ratio

W2 ReLU(W1 h + b1) + b2, whose hidden width is ratio times the width of the model: 4 in Vaswani et al. 2017,
https://arxiv.org/abs/1706.03762, 5 in the lecture notes of docs/notes.md. A model of a higher ratio has
narrower layers, as many. The two heads may have odd widths, which rotary positions do not take: positions are added to
the tokens.
"""

from typing import Any

MLP = dict(use='feedforward.mlp:MLP', activation=dict(use='jax.nn:relu'), bias=True)
SMALL = {
    'model.block.mixer.heads': 2,
    'model.block.mixer.key_value_heads': 2,
    'model.block.mixer.position': dict(use='position.none:NoPosition'),
    'model.position': dict(use='position.sinusoid:Sinusoid', scale=0.02),
    'steps': 400,
    'batch_size': 16,
    'eval_every': 200,
}


def get_sweep() -> dict[str, Any]:
    points = [
        {'name': f'{ratio}', **SMALL, 'model.block.feedforward': {**MLP, 'ratio': float(ratio)}}
        for ratio in (1, 2, 4, 5, 8)
    ]
    match = dict(what='parameters', by={'model.width': 2}, to=940_000)
    return dict(runs=dict(list=points), seeds=3, match=match)
