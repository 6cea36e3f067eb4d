# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The losses of CLIP and SigLIP by the size of the batch, with the same towers and as many images.

    python launch/sweep.py --config=experiments/pairs/clip.py --sweep=experiments/sweeps/contrastive_losses.py \\
        --workdir=runs/contrastive_losses
    python launch/report.py --workdir=runs/contrastive_losses

Zhai et al. 2023, "Sigmoid Loss for Language Image Pre-Training", https://arxiv.org/abs/2303.15343, figure 2: the
sigmoid loss is better at small batches, and both are alike at large ones.
"""

from typing import Any

IMAGES = 24_576  # of each run
LOSSES = dict(
    clip={},
    siglip={
        'task': dict(use='task.sigmoid_contrastive:SigmoidContrastive', chunk=None),
        'model.logit_scale': 10.0,
        'model.logit_bias': -10.0,
    },
)


def get_sweep() -> dict[str, Any]:
    points = [
        {'name': f'{loss}_{batch}', **fields, **sizes(batch)}
        for batch in (32, 128, 512)
        for loss, fields in LOSSES.items()
    ]
    return dict(runs=dict(list=points), seeds=3)


def sizes(batch: int) -> dict[str, int]:
    """Return the fields of a run on IMAGES images in batches of this size."""
    steps = IMAGES // batch
    return {'batch_size': batch, 'steps': steps, 'eval_every': steps}
