# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Local engine: runs as processes of this machine, one per GPU or per equal share of the cores."""

import os
import shlex
import signal
import subprocess
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from saccade.sweep.engine import Event, Job
from saccade.train.process.processes import gpus as gpus_here
from saccade.train.workdir import open_own, writing
from saccade.types import UserError

# Seconds that a run has to save and end after SIGTERM, before SIGKILL: more than a step, a save and `CLOSE_SECONDS`.
STOP_SECONDS = 300.0
NO_START = 127  # a shell's exit status for a command that cannot be started


@dataclass(frozen=True)
class Share:
    """Share of the machine for one process: cores, none where it takes a GPU, and environment variables."""

    cores: frozenset[int] = frozenset()
    environment: Mapping[str, str] = field(default_factory=dict)


def shares(jobs: int | None = None) -> list[Share]:
    """Divide this machine: a GPU each, or an equal part of the cores.

    Args:
        jobs: how many processes at a time; None for one per GPU, or for a single one where there is no GPU.

    Raises:
        UserError: there are not so many GPUs or cores.
    """
    gpus, cores = gpus_here(), _cores()
    jobs = jobs if jobs is not None else len(gpus) or 1
    there, what = (len(gpus), 'GPU') if gpus else (len(cores), 'core')
    if not 1 <= jobs <= there:
        raise UserError(f'--jobs={jobs}: must be between 1 and {there}: a {what} each')
    if gpus:
        return [Share(environment={'CUDA_VISIBLE_DEVICES': gpu}) for gpu in gpus[:jobs]]
    each = len(cores) // jobs
    # The number of cores changes the last bits of a sum, so all runs get equally many.
    return [Share(frozenset(cores[number * each : (number + 1) * each])) for number in range(jobs)]


class Local:
    """Local engine. A context manager: processes still at work are stopped at its end."""

    def __init__(self, shares: Sequence[Share], lock: int) -> None:
        """Take the shares in which processes may run, and a file descriptor that they keep open."""
        self._free, self.lock = deque(shares), lock
        self._waiting: deque[Job] = deque()
        self.working: dict[str, tuple[subprocess.Popen, Share]] = {}

    def submit(self, job: Job) -> None:
        """Put a job in line for a free share of the machine."""
        self._waiting.append(job)

    def poll(self) -> list[Event]:
        """Return the events of jobs that have ended, and of waiting jobs, which it starts where a share is free."""
        return [*self._ended(), *self._begun()]

    def stop(self) -> list[Event]:
        """As an engine's. What has not ended `STOP_SECONDS` after SIGTERM is killed, with all that it has started."""
        self._waiting.clear()
        for process, _ in self.working.values():
            process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + STOP_SECONDS
        for process, _ in self.working.values():
            try:
                process.wait(max(deadline - time.monotonic(), 0))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        return list(self._ended())

    def __enter__(self) -> 'Local':
        return self

    def __exit__(self, *exception: Any) -> None:
        self.stop()

    def _ended(self) -> Iterator[Event]:
        for name, (process, share) in list(self.working.items()):
            if process.poll() is not None:
                del self.working[name]
                self._free.append(share)
                yield Event(name, process.returncode)

    def _begun(self) -> Iterator[Event]:
        while self._waiting and self._free:
            job = self._waiting.popleft()
            process = self._start(job, self._free[0])
            yield Event(job.name)
            if process is None:
                yield Event(job.name, NO_START)
            else:
                self.working[job.name] = process, self._free.popleft()

    def _start(self, job: Job, share: Share) -> subprocess.Popen | None:
        """Start a job; None where its command cannot be started, which its log then says."""
        with writing(job.log.parent):
            job.log.parent.mkdir(parents=True, exist_ok=True)
            log = open_own(job.log, 'a')
        with log, _bound_to(share.cores):
            print(f'--- {datetime.now():%Y-%m-%d %H:%M:%S} {shlex.join(job.command)}', file=log, flush=True)
            try:
                return subprocess.Popen(
                    job.command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env={**os.environ, **share.environment},
                    pass_fds=(self.lock,),
                    start_new_session=True,  # Ctrl-C is for whoever started it, who tells it to save
                )
            except OSError as error:
                print(error, file=log)
                return None


@contextmanager
def _bound_to(cores: frozenset[int]) -> Iterator[None]:
    """Bind what is started within to some cores: a process inherits those of the thread that starts it."""
    if not cores or not hasattr(os, 'sched_setaffinity'):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _cores() -> list[int]:
    if hasattr(os, 'sched_getaffinity'):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))
