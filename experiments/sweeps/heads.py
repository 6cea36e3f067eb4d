# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sweep over the number of heads at equal width.

    python launch/sweep.py --config=experiments/causal_lm/quickstart.py --sweep=experiments/sweeps/heads.py \
        --workdir=runs/heads --jobs=2

Heads split the width, so every variant has the same parameters and the same FLOPs. Compare with Vaswani et al. 2017,
table 3, rows A, where a few heads are best and more add little.
"""


def get_sweep() -> dict:
    return dict(runs=dict(grid={'model.block.mixer.heads': [1, 2, 4, 8, 16]}), seeds=3)
