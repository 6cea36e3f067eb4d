# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Program of a run of a sweep: runs with equal digests go to one worker, one after another."""

from collections.abc import Sequence

from saccade.train.config import load_config
from saccade.train.program import program_digest


def program_of(config: str, overrides: Sequence[str]) -> str | None:
    """Return the digest of what a run compiles; None where its config cannot be loaded, which the run itself says."""
    try:
        return program_digest(load_config(config, overrides))
    except Exception:  # a file of the user's own may raise anything
        return None
