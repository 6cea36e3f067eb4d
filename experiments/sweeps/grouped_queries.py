# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Grouped queries: 2 key-value heads for 8 query heads, compared with 8.

    python launch/sweep.py --config=experiments/causal_lm/comparison.py --sweep=experiments/sweeps/grouped_queries.py \\
        --workdir=runs/grouped_queries --jobs=2

Ainslie et al. 2023, "GQA", https://arxiv.org/abs/2305.13245: quality close to that of multi-head attention. The margin
is 0.02 nats per byte.
"""

from typing import Any

MIXER = 'model.block.mixer'


def get_sweep() -> dict[str, Any]:
    points = [{'name': f'{count}_of_8', f'{MIXER}.heads': 8, f'{MIXER}.key_value_heads': count} for count in (8, 2)]
    return dict(
        runs=dict(list=[{**point, 'steps': 1000, 'eval_every': 500} for point in points]),
        seeds=5,
        metric='loss',
        baseline='8_of_8',
        margin=0.02,
    )
