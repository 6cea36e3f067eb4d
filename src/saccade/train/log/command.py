# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Output of git and other commands, which may be missing or hang."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

_PATIENCE = 1.0  # seconds for each command


def git(folder: Path, *arguments: str) -> str | None:
    """Return the output of a git command for a folder; None if it fails, as outside a repository."""
    return output(['git', '-C', str(folder), '--no-optional-locks', *arguments])


def output(command: Sequence[str]) -> str | None:
    """Return the output of a command; None if it is missing, fails or takes too long."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith('GIT_')}  # set by a hook
    try:
        done = subprocess.run(
            command, capture_output=True, env=environment, timeout=_PATIENCE, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return os.fsdecode(done.stdout) if done.returncode == 0 else None
