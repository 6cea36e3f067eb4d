# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Parity by attention with PaTH and with rotary positions.

    python launch/sweep.py --config=experiments/diagnostics/parity.py --sweep=experiments/sweeps/path.py \\
        --workdir=runs/path --jobs=2

Yang et al. 2025, "PaTH Attention", https://arxiv.org/abs/2505.16381: PaTH tracks a state that changes with
each token in fewer layers than rotary positions do. Two layers here.
"""

from typing import Any

from saccade.experiments.sweeps.diagnostics import MIXER, attentions


def get_sweep() -> dict[str, Any]:
    every = attentions()
    points = [{'name': name, MIXER: every[mixer]} for name, mixer in dict(path='path', rotary='attention').items()]
    return dict(runs=dict(list=points), seeds=5, metric='accuracy')
