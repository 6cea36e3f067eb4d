# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Parity by DeltaNet with b up to 2 and with b up to 1.

    python launch/sweep.py --config=experiments/diagnostics/parity.py --sweep=experiments/sweeps/parity.py \\
        --workdir=runs/parity
    python launch/report.py --workdir=runs/parity

Grazzi et al. 2024, "Unlocking State-Tracking in Linear RNNs Through Negative Eigenvalues", section 5.1,
https://arxiv.org/abs/2411.12537: trained on 3 to 40 bits and evaluated on 40 to 256, the accuracies, rescaled from
chance (0) to perfect (1), are 1.000 and 0.017.
"""


def get_sweep() -> dict:
    points = [
        {'name': f'b_to_{2 if negative else 1}', 'model.block.mixer.negative_eigenvalues': negative}
        for negative in (True, False)
    ]
    return dict(
        runs=dict(list=[{**point, 'steps': 300, 'data.validation': 200} for point in points]),
        seeds=5,
        metric='accuracy',
    )
