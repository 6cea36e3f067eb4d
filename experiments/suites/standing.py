# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Suite of the results page: six abilities by 30 mixers.

    python launch/suite.py --suite=experiments/suites/standing.py --workdir=runs/standing --jobs=2 \\
        --page=docs/results/diagnostics.md

It regenerates the page of results. The tasks are in `experiments/suites/diagnostics.py`; attention with other
projections is left out.
"""

from typing import Any

from saccade.experiments.suites.diagnostics import get_suite as diagnostics


def get_suite() -> dict[str, Any]:
    return {name: task | dict(size='quick') for name, task in diagnostics().items()}
