# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Recall by recurrent mixers with states of equal size.

    python launch/sweep.py --config=experiments/diagnostics/recall_many.py --sweep=experiments/sweeps/state.py \\
        --workdir=runs/state --jobs=2
    python launch/report.py --workdir=runs/state --metric=accuracy

Each has two heads with a state of 32 x 32, a short convolution, and equal numbers of parameters; attention has a window
whose cache has the same size. A rate is chosen for each on one seed, and three others are compared. In Yang et al.
2024, "Gated Delta Networks", https://arxiv.org/abs/2412.06464, DeltaNet and gated DeltaNet rank before Mamba-2.
"""

from typing import Any

from saccade.experiments.sweeps.diagnostics import MIXER, RATES, SHORT, mixers


def get_sweep() -> dict[str, Any]:
    every = mixers()
    recurrent = {
        name: every[name] | dict(convolution=SHORT)
        for name in ('delta_net', 'gated_delta_net', 'gated_linear', 'mamba2', 'retention')
    }
    points = [{'name': name, MIXER: mixer} for name, mixer in {**recurrent, 'window': every['window']}.items()]
    return dict(
        runs=dict(list=points),
        seeds=3,
        match=dict(what='parameters', by={'model.block.feedforward.ratio': 0.01}),
        tune=RATES | dict(halving=dict(steps=[150])),
    )
