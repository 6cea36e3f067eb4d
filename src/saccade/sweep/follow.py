# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Execution of one job by an engine, with its output."""

import os
import time
from collections.abc import Callable

from saccade.sweep.engine import Engine, Job
from saccade.train.process.processes import stop_signal

_POLL = 0.5  # seconds between two polls of the engine and the log


def follow(engine: Engine, job: Job, show: Callable[[str], None]) -> int | None:
    """Submit a job and show what is appended to its log.

    Returns:
        Its exit status; None if interrupted by a stop signal.
    """
    engine.submit(job)
    job.log.touch()
    with job.log.open(encoding='utf-8', errors='replace') as log, stop_signal() as stopped:
        log.seek(0, os.SEEK_END)
        while not stopped():
            ends = [event.exit for event in engine.poll() if event.exit is not None]
            show(log.read())
            if ends:
                return ends[0]
            time.sleep(_POLL)
    engine.stop()
    return None
