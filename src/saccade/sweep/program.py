# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Program of a run: runs with equal digests compile the same, so they go to one worker, one after another."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from saccade.train.config import load_config

_INPUTS = ('seed', 'steps', 'schedule')  # fields of a config that are inputs of the compiled step, or outside it


def program_of(config: str, overrides: Sequence[str]) -> str | None:
    """Return the digest of what a run compiles; None where its config cannot be loaded, which the run itself says."""
    try:
        return _digest(load_config(config, overrides))
    except Exception:  # a file of the user's own may raise anything
        return None


def _digest(config: Mapping[str, Any]) -> str:
    compiled = {field: value for field, value in config.items() if field not in _INPUTS}
    return hashlib.sha256(json.dumps(compiled, sort_keys=True).encode()).hexdigest()
