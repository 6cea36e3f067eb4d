# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Recall by a delta rule and by gated linear attention, with states of the same size.

    python launch/sweep.py --config=experiments/diagnostics/recall.py --sweep=experiments/sweeps/equal_states.py \\
        --workdir=runs/equal_states --jobs=2

Yang et al. 2024, "Gated Delta Networks", https://arxiv.org/abs/2412.06464: with a delta rule more pairs are recalled.
Two heads with states of 16 x 16, a short convolution before the first layer, 16 pairs of 256 symbols in 64 tokens.
"""

from typing import Any

from saccade.experiments.suites.state_size import task
from saccade.experiments.sweeps.arena import FIRST, named


def get_sweep() -> dict[str, Any]:
    shared = {**FIRST, 'model.block.mixer.head_width': 16, **task(16)['fields']}
    # As many parameters as sweeps/state_size.py has; the base, of 8,192 symbols, has more.
    points = [{**point, **shared} for point in named(['gated_delta_net', 'gated_linear'])]
    return dict(
        runs=dict(list=points),
        seeds=5,
        metric='accuracy',
        match=dict(what='parameters', to=115_000, by={'model.block.feedforward.ratio': 0.01}),
    )
