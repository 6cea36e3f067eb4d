# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Length generalisation on a regular language by an LSTM and by attention.

    python launch/sweep.py --config=experiments/diagnostics/parity.py --sweep=experiments/sweeps/regular.py \\
        --workdir=runs/regular
    python launch/report.py --workdir=runs/regular

Deletang et al. 2023, "Neural Networks and the Chomsky Hierarchy", https://arxiv.org/abs/2207.02098: recurrent networks
solve parity at lengths never trained on, and Transformers do not, with any positions. Each variant has the better of
the rates tried.
"""

from typing import Any

from saccade.experiments.sweeps.diagnostics import MIXER, mixers


def get_sweep() -> dict[str, Any]:
    every = mixers()
    rates = dict(lstm=1e-2, attention=3e-3, attention_without_positions=3e-3)
    shared = {'steps': 1200, 'batch_size': 32, 'data.validation': 400}
    points = [{'name': name, MIXER: every[name], 'schedule.peak': rate, **shared} for name, rate in rates.items()]
    return dict(runs=dict(list=points), seeds=5, metric='accuracy')
