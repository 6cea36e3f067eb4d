# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Induction by a layer of attention in a window and a layer of full attention after it: a small window and a large one.

    python launch/sweep.py --config=experiments/diagnostics/recall.py --sweep=experiments/sweeps/lazy_windows.py \\
        --workdir=runs/lazy_windows --jobs=2

https://arxiv.org/abs/2606.15378: in models of both kinds of layers, larger windows delay the formation of retrieval
heads in the layers of full attention. The tokens repeat with a period of 8 to 16, as in sweeps/induction.py, whose
model of two full layers needs 200 steps; here the loss is compared after 150.
"""

from typing import Any

from saccade.experiments.diagnostics.base import ROTARY_ATTENTION
from saccade.experiments.sweeps.diagnostics import NORM, window
from saccade.experiments.sweeps.induction import REPEATED

WINDOWS = (4, 16)  # tokens, the newest included


def get_sweep() -> dict[str, Any]:
    shared = {**REPEATED, 'steps': 150, 'eval_every': 50, 'checkpoint_every': 150}
    points = [{'name': f'window_{size}', 'model.first_blocks': [windowed(size)], **shared} for size in WINDOWS]
    return dict(runs=dict(list=points), seeds=5, metric='loss')


def windowed(size: int) -> dict[str, Any]:
    """Return a block of attention to the newest `size` tokens."""
    attention = ROTARY_ATTENTION | dict(mask=window(size))
    return dict(use='block.pre_norm:PreNorm', norm=NORM, mixer=attention, feedforward=None)
