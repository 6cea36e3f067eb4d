# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Selective copying by a mixer that depends on the token, by time-invariant ones, and by one with a constant decay.

    python launch/sweep.py --config=experiments/diagnostics/recall.py --sweep=experiments/sweeps/selection.py \\
        --workdir=runs/selection --jobs=2

Gu, Dao 2023, "Mamba", section 4.1.1, https://arxiv.org/abs/2312.00752: selective mixers copy 8 marked tokens out of
noise, time-invariant ones do not. S4D is time-invariant; retention has a constant decay, and queries, keys and values
that depend on the token. Mamba-2 has its own convolution. The others have none, and one in a further variant each: that
of S4D is a layer before the first.
"""

from typing import Any

from saccade.experiments.suites.arena import task
from saccade.experiments.sweeps.arena import FIRST
from saccade.experiments.sweeps.diagnostics import MIXER, SHORT, mixers

COPYING = dict(use='data.diagnostic.copying:SelectiveCopy', symbols=14, count=8)


def get_sweep() -> dict[str, Any]:
    every = mixers()
    variants = dict(
        mamba2=every['mamba2'],
        retention=every['retention'],
        retention_with_convolution=every['retention'] | dict(convolution=SHORT),
        s4d=every['s4d'],
    )
    shared = {**task(COPYING, 16, length=48)['fields'], 'schedule.peak': 3e-3}
    points = [{'name': name, MIXER: mixer, **shared} for name, mixer in variants.items()]
    points.append({'name': 's4d_after_convolution', MIXER: every['s4d'], **shared, **FIRST})
    return dict(runs=dict(list=points), seeds=5, metric='accuracy', baseline='mamba2', margin=0.1)
