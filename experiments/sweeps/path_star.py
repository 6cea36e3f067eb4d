# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Path-star graphs: the path written from the start, and from its end.

    python launch/sweep.py --config=experiments/diagnostics/path_star.py --sweep=experiments/sweeps/path_star.py \\
        --workdir=runs/path_star --jobs=2

Bachmann, Nagarajan 2024, section 5, https://arxiv.org/abs/2403.06963: trained on the next token, models guess one of
the arms; with reversed targets they write every path.
"""

from typing import Any


def get_sweep() -> dict[str, Any]:
    points = [
        {'name': name, 'data.generator.backwards': backwards}
        for name, backwards in (('forwards', False), ('backwards', True))
    ]
    return dict(runs=dict(list=points), seeds=5, metric='solved')
