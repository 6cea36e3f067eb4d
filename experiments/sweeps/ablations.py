# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A small Transformer without each of its pieces: scaling, residual connections, norms, feed-forward, positions.

    python launch/sweep.py --config=experiments/causal_lm/comparison.py --sweep=experiments/sweeps/ablations.py \\
        --workdir=runs/ablations
    python launch/report.py --workdir=runs/ablations

All have one learning rate, which was chosen for the whole model. Without a feed-forward layer the model is smaller.
"""

from typing import Any

NO_NORM = dict(use='norm.none:NoNorm')
SMALL = {'steps': 200, 'eval_every': 200}


def get_sweep() -> dict[str, Any]:
    variants = dict(
        whole={},
        unscaled={'model.block.mixer.scale': 1.0},
        without_residual={'model.block.use': 'block.no_residual:NoResidual'},
        without_norm={'model.norm': NO_NORM, 'model.block.norm': NO_NORM},
        without_feedforward={'model.block.feedforward': None},
        without_positions={'model.block.mixer.position': dict(use='position.none:NoPosition')},
    )
    return dict(runs=dict(list=[{'name': name, **SMALL, **fields} for name, fields in variants.items()]), seeds=3)
