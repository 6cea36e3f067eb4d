# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Which mixer can do what, as far as it has been measured: three abilities by 30 mixers, three more by seven.

    python launch/suite.py --suite=experiments/suites/standing.py --workdir=runs/standing --jobs=2 \\
        --page=docs/results/diagnostics.md

It makes the page of results anew. `experiments/suites/diagnostics.py` has the tasks.
"""

from typing import Any

from saccade.experiments.suites.diagnostics import get_suite as diagnostics

MOST = ('recall', 'parity', 'copying')  # by all mixers but attention with other projections; the others by seven


def get_suite() -> dict[str, Any]:
    return {name: task | dict(size='quick' if name in MOST else 'least') for name, task in diagnostics().items()}
