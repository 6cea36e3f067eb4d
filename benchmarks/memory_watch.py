# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Peak memory of this process on Linux, with and without mapped pages of files."""

import threading
import time
from pathlib import Path

_EVERY = 0.05  # seconds


class MemoryWatch:
    """Thread that looks at /proc/self/status until the process ends."""

    def __init__(self) -> None:
        """Start the thread."""
        self._own = 0
        threading.Thread(target=self._look, daemon=True).start()

    def peaks(self) -> dict[str, int]:
        """Return `peak`, of resident memory, and `own_peak`, of that without pages of files [bytes]."""
        return {'peak': _kilobytes('VmHWM') * 1024, 'own_peak': self._own * 1024}

    def _look(self) -> None:
        while True:
            self._own = max(self._own, _kilobytes('RssAnon') + _kilobytes('RssShmem'))
            time.sleep(_EVERY)


def _kilobytes(name: str) -> int:
    lines = Path('/proc/self/status').read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f'{name}:'))
