# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Which mixer can do what: six abilities by 30 mixers.

    python launch/suite.py --suite=experiments/suites/standing.py --workdir=runs/standing --jobs=2 \\
        --page=docs/results/diagnostics.md

It makes the page of results anew. `experiments/suites/diagnostics.py` has the tasks; attention with other
projections is left out.
"""

from typing import Any

from saccade.experiments.suites.diagnostics import get_suite as diagnostics


def get_suite() -> dict[str, Any]:
    return {name: task | dict(size='quick') for name, task in diagnostics().items()}
