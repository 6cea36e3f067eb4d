# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The losses of CLIP and SigLIP by the size of the batch, with the same towers and as many images.

    python launch/sweep.py --config=experiments/pairs/clip.py --sweep=experiments/sweeps/contrastive_losses.py \\
        --workdir=runs/contrastive_losses
    python launch/report.py --workdir=runs/contrastive_losses

Zhai et al. 2023, "Sigmoid Loss for Language Image Pre-Training", https://arxiv.org/abs/2303.15343, figure 2: the
sigmoid loss is better at small batches, and both are alike at large ones. `--size=small_batch` has five seeds of
batches of 32 alone.
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
    small = dict(name='small_batch', runs=dict(list=points(32)), seeds=5)
    everything = [point for batch in (32, 128, 512) for point in points(batch)]
    return dict(
        runs=dict(list=everything), seeds=3, metric='image_to_text_recall_at_1', sizes=[dict(name='full'), small]
    )


def points(batch: int) -> list[dict[str, Any]]:
    """Return both losses at a size of the batch."""
    return [{'name': f'{loss}_{batch}', **fields, **settings(batch)} for loss, fields in LOSSES.items()]


def settings(batch: int) -> dict[str, int]:
    """Return the fields of a run on IMAGES images in batches of this size."""
    steps = IMAGES // batch
    return {'batch_size': batch, 'steps': steps, 'eval_every': steps}
