# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Language models on rows longer than in training: ALiBi, sinusoids, rotary positions, none.

    python launch/sweep.py --config=experiments/causal_lm/comparison.py --sweep=experiments/sweeps/extrapolation.py \\
        --workdir=runs/extrapolation --jobs=2

Press et al. 2022, "Train Short, Test Long", https://arxiv.org/abs/2108.12409: ALiBi extrapolates, sinusoids do not.
Trained on rows of 64 bytes, evaluated on up to 512. position.py has all position schemes.
"""

from typing import Any

from saccade.experiments.sweeps.position import LENGTHS, NONE, PAIRS, TOKENS


def get_sweep() -> dict[str, Any]:
    places = dict(
        alibi={TOKENS: NONE, PAIRS: dict(use='position.alibi:ALiBi')},
        rotary={TOKENS: NONE, PAIRS: dict(use='position.rotary:Rotary')},
        sinusoid={TOKENS: dict(use='position.sinusoid:Sinusoid', scale=0.02), PAIRS: NONE},
        none={TOKENS: NONE, PAIRS: NONE},
    )
    shared = {'eval_lengths': LENGTHS, 'steps': 1000, 'eval_every': 1000}
    points = [{'name': name, **fields, **shared} for name, fields in places.items()]
    return dict(runs=dict(list=points), seeds=5, metric='bits_per_byte')
