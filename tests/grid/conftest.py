# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What was drawn, in the header of the tests; and the wholes of `tests/contract`, which are run here."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / 'contract'))


def pytest_report_header() -> str:
    from cells import SEED, cover, refused

    return f'grid: seed {SEED}, {len(cover())} cells, {len(refused())} refused'
