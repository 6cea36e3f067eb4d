# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Program of a run: runs with equal digests are executed by one worker, in sequence."""

from collections.abc import Sequence

from saccade.train.config import load_config
from saccade.train.program import program_digest


def program_of(config: str, overrides: Sequence[str]) -> str | None:
    """Return the digest of a run's compiled program; None if its config cannot be loaded, which the run reports."""
    try:
        return program_digest(load_config(config, overrides))
    except Exception:  # a user's file may raise anything
        return None
