# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Normalised queries and keys at ten times the learning rate of the base model.

    python launch/sweep.py --config=experiments/causal_lm/comparison.py --sweep=experiments/sweeps/high_rate.py \\
        --workdir=runs/high_rate --jobs=2

Dehghani et al. 2023, "Scaling Vision Transformers to 22 Billion Parameters", section 2, https://arxiv.org/abs/2302.05442:
a norm of queries and keys keeps training stable where it otherwise diverges.
"""

from typing import Any

MIXER = 'model.block.mixer'


def get_sweep() -> dict[str, Any]:
    norms = dict(normalised=dict(use='norm.rms:RMSNorm'), plain=None)
    shared = {'schedule.peak': 4e-2, 'steps': 500, 'eval_every': 500}
    points = [{'name': name, f'{MIXER}.head_norm': norm, **shared} for name, norm in norms.items()]
    return dict(runs=dict(list=points), seeds=5, metric='loss', baseline='normalised', margin=0.05)
