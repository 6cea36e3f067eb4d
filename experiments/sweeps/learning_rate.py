# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sweep over learning rates and schedules.

    python launch/sweep.py --config=experiments/causal_lm/quickstart.py --sweep=experiments/sweeps/learning_rate.py \
        --workdir=runs/learning_rate --jobs=2 --config.steps=240 --config.eval_every=60

Does the best peak depend on the decay: along a cosine, in the last fifth, or none?
"""

WARMUP, DECAY = 20, 48  # of 240 steps


def get_sweep() -> dict:
    schedules = [
        dict(use='train.schedule:Cosine', peak=0.0, warmup=WARMUP),
        dict(use='train.schedule:WarmupStableDecay', peak=0.0, warmup=WARMUP, decay=DECAY),
        dict(use='train.schedule:Constant', peak=0.0, warmup=WARMUP),
    ]
    return dict(runs=dict(grid={'schedule': schedules, 'schedule.peak': [1e-3, 3e-3, 1e-2]}), seeds=3)
