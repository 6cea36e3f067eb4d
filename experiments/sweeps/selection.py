# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Selective copying by a mixer whose decay depends on the token, and by one with a constant decay.

    python launch/sweep.py --config=experiments/diagnostics/recall.py --sweep=experiments/sweeps/selection.py \\
        --workdir=runs/selection --jobs=2

Gu, Dao 2023, "Mamba", section 4.1.1, https://arxiv.org/abs/2312.00752: selective mixers copy 8 marked tokens out of
noise, time-invariant ones do not. Mamba-2 has its own convolution; retention has none, and one in a third variant.
"""

from typing import Any

from saccade.experiments.suites.arena import task
from saccade.experiments.sweeps.diagnostics import MIXER, SHORT, mixers

COPYING = dict(use='data.diagnostic.copying:SelectiveCopy', symbols=14, count=8)


def get_sweep() -> dict[str, Any]:
    every = mixers()
    variants = dict(
        mamba2=every['mamba2'],
        retention=every['retention'],
        retention_with_convolution=every['retention'] | dict(convolution=SHORT),
    )
    shared = {**task(COPYING, 16, length=48)['fields'], 'schedule.peak': 3e-3}
    points = [{'name': name, MIXER: mixer, **shared} for name, mixer in variants.items()]
    return dict(runs=dict(list=points), seeds=5, metric='accuracy', baseline='mamba2', margin=0.1)
