# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Does DeltaNet learn parity where b goes up to 2, and where it goes up to 1?

    python launch/sweep.py --config=experiments/diagnostics/parity.py --sweep=experiments/sweeps/parity.py \\
        --workdir=runs/parity
    python launch/report.py --workdir=runs/parity --metric=accuracy

Grazzi et al. 2024, "Unlocking State-Tracking in Linear RNNs Through Negative Eigenvalues", section 5.1,
https://arxiv.org/abs/2411.12537: trained on 3 to 40 bits and measured on 40 to 256, 1.000 and 0.017 of the way from
chance to that.
"""


def get_sweep() -> dict:
    points = [
        {'name': f'b_to_{2 if negative else 1}', 'model.block.mixer.negative_eigenvalues': negative}
        for negative in (True, False)
    ]
    return dict(runs=dict(list=[{**point, 'steps': 300, 'data.validation': 200} for point in points]), seeds=3)
