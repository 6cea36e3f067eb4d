# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Peak memory of this process on Linux, with and without mapped pages of files."""

import threading
import time

from saccade.analysis.preflight.measured import memory_status

_EVERY = 0.05  # seconds


class MemoryWatch:
    """Thread that looks at /proc/self/status until the process ends."""

    def __init__(self) -> None:
        """Start the thread."""
        self._own = 0
        threading.Thread(target=self._look, daemon=True).start()

    def peaks(self) -> dict[str, int]:
        """Return `peak`, of resident memory, and `own_peak`, of that without pages of files [bytes]."""
        return {'peak': memory_status('VmHWM'), 'own_peak': self._own}

    def _look(self) -> None:
        while True:
            self._own = max(self._own, memory_status('RssAnon') + memory_status('RssShmem'))
            time.sleep(_EVERY)
