# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""ReZero and post-norm blocks in 32 layers of width 64.

    python launch/sweep.py --config=experiments/causal_lm/comparison.py --sweep=experiments/sweeps/deep_residuals.py \\
        --workdir=runs/deep_residuals --jobs=2

Bachlechner et al. 2020, "ReZero is All You Need", https://arxiv.org/abs/2003.04887: deep Transformers with ReZero
train faster than with post-norm. ReZero has no norm in its blocks. Both have a warm-up over a sixteenth of the steps.
"""

from typing import Any


def get_sweep() -> dict[str, Any]:
    blocks = dict(
        rezero={'model.block.use': 'block.rezero:ReZero', 'model.block.norm': dict(use='norm.none:NoNorm')},
        post_norm={'model.block.use': 'block.post_norm:PostNorm'},
    )
    shared = {'model.layers': 32, 'model.width': 64, 'steps': 300, 'eval_every': 300}
    points = [{'name': name, **fields, **shared} for name, fields in blocks.items()]
    return dict(runs=dict(list=points), seeds=5, metric='loss', baseline='rezero', margin=0.05)
