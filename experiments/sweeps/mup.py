# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Learning rate transfer across widths, with muP and with the standard parametrisation.

    python launch/sweep.py --config=experiments/causal_lm/mup.py --sweep=experiments/sweeps/mup.py \
        --workdir=runs/mup_sweep --jobs=2 --config.steps=240 --config.eval_every=60

A model eight times as wide is trained in both parametrisations, which are equal at the base width. In muP
(Yang et al. 2022, figure 1) the best rate is the same at both widths; without muP it is lower for the wide model.
"""

BASE, WIDE = 32, 256


def get_sweep() -> dict:
    models = dict(narrow=(BASE, BASE), wide_mup=(WIDE, BASE), wide_standard=(WIDE, WIDE))
    points = [
        {'name': f'{name}-{peak}', 'model.width': width, 'optimizer.rates.base_width': base, 'schedule.peak': peak}
        for name, (width, base) in models.items()
        for peak in (1e-3, 3e-3, 1e-2, 3e-2)
    ]
    return dict(runs=dict(list=points), seeds=3)
