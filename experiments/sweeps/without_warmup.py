# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Pre-norm and post-norm blocks in six layers, trained without warm-up.

    python launch/sweep.py --config=experiments/causal_lm/comparison.py --sweep=experiments/sweeps/without_warmup.py \\
        --workdir=runs/without_warmup --jobs=2

Xiong et al. 2020, "On Layer Normalization in the Transformer Architecture", https://arxiv.org/abs/2002.04745: without
warm-up pre-norm trains well, post-norm does not.
"""

from typing import Any


def get_sweep() -> dict[str, Any]:
    blocks = dict(pre_norm='block.pre_norm:PreNorm', post_norm='block.post_norm:PostNorm')
    shared = {'model.layers': 6, 'schedule.warmup': 0, 'steps': 500, 'eval_every': 500}
    points = [{'name': name, 'model.block.use': use, **shared} for name, use in blocks.items()]
    return dict(runs=dict(list=points), seeds=5, metric='loss', baseline='pre_norm', margin=0.05)
