# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""From one head to as many as the width allows: 1 to 64 heads of 128 to 2 features, in a small model.

    python launch/sweep.py --config=experiments/causal_lm/comparison.py --sweep=experiments/sweeps/many_heads.py \\
        --workdir=runs/many_heads
    python launch/report.py --workdir=runs/many_heads

Every variant has the same parameters and the same matrix products. heads.py is the same in the quickstart's model, with
longer training.
"""

from typing import Any

MIXER = 'model.block.mixer'
SMALL = {'steps': 200, 'eval_every': 200}


def get_sweep() -> dict[str, Any]:
    points = [
        {'name': f'{heads}', f'{MIXER}.heads': heads, f'{MIXER}.key_value_heads': heads, **SMALL}
        for heads in (1, 2, 4, 8, 16, 32, 64)
    ]
    return dict(runs=dict(list=points), seeds=3)
