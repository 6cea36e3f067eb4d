# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Local engine: runs in processes of this machine, one per GPU or per equal share of the cores.

Runs of one program (seeds, rates, rounds of a search) go to the same worker one after another, which does not import,
trace and compile again: see `sweep.worker`.
"""

import os
import shlex
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import IO, Any

from saccade.sweep import worker
from saccade.sweep.engine import Event, Job
from saccade.train.process.processes import gpus as gpus_here
from saccade.train.workdir import open_own, writing
from saccade.types import UserError

# Seconds that a run has to save and end after SIGTERM, before SIGKILL: more than a step, a save and `CLOSE_SECONDS`.
STOP_SECONDS = 300.0
_RUN_BYTES = 4 * 2**30  # of memory for each run, where the number of runs at a time is not given
NO_START = 127  # a shell's exit status for a command that cannot be started


@dataclass(frozen=True)
class Share:
    """Share of the machine for one process: cores, none where it takes a GPU, and environment variables."""

    cores: frozenset[int] = frozenset()
    environment: Mapping[str, str] = field(default_factory=dict)


def shares(jobs: int | None = None, before: int | None = None) -> list[Share]:
    """Divide this machine: a GPU each, or an equal part of the cores.

    The number of cores changes the last bits of a sum, so all runs of a sweep get equally many.

    Args:
        jobs: number of runs at a time. None for one per GPU; without a GPU for as many as there are cores, since small
            runs on a core each take less time together than one after another on all cores, within the memory.
        before: number of cores that runs of the sweep had before; without `jobs`, those that go on have as many.

    Raises:
        UserError: there are not so many GPUs or cores.
    """
    gpus, cores = gpus_here(), _cores()
    there, what = (len(gpus), 'GPU') if gpus else (len(cores), 'core')
    if jobs is not None and not 1 <= jobs <= there:
        raise UserError(f'--jobs={jobs}: must be between 1 and {there}: a {what} each')
    if gpus:
        return [Share(environment={'CUDA_VISIBLE_DEVICES': gpu}) for gpu in gpus[:jobs]]
    each = len(cores) // jobs if jobs else min(before or -(-len(cores) // _runs_in_memory()), len(cores))
    return [Share(frozenset(cores[first : first + each])) for first in range(0, len(cores) - each + 1, each)][:jobs]


def shared(shares: Sequence[Share], before: int | None) -> str:
    """Describe the division of this machine in a line, with what it changes in a sweep whose runs had other cores."""
    cores = len(shares[0].cores)
    each = 'a GPU each' if not cores else 'a core each' if cores == 1 else f'{cores} cores each'
    changes = f'; runs before had {before}, which changes the last bits of sums' if before not in (None, cores) else ''
    return f'jobs        {len(shares)} at a time, {each}{changes if cores else ""}'


def _runs_in_memory() -> int:
    return max(os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') // _RUN_BYTES, 1)


class Worker:
    """Share of the machine with its process, for one job at a time. A process serves a program, or a job without one.

    Attributes:
        share: of the machine.
        session: whether a process gets a session of its own. Ctrl-C is for whoever started it, who tells it to save.
        job: in hand; None where the share is free.
        program: of the last job.
        process: that carries out the job in hand, or did the last.
    """

    def __init__(self, share: Share, session: bool = True) -> None:
        self.share, self.session = share, session
        self.job: Job | None = None
        self.program: str | None = None
        self.process: subprocess.Popen | None = None
        self._jobs: socket.socket | None = None

    def begin(self, job: Job, lock: int) -> bool:
        """Begin a job; False where its command cannot be started, which its log then says."""
        with writing(job.log.parent):
            job.log.parent.mkdir(parents=True, exist_ok=True)
            log = open_own(job.log, 'a')
        with log:
            print(f'--- {datetime.now():%Y-%m-%d %H:%M:%S} {shlex.join(job.command)}', file=log, flush=True)
            try:
                self._hand(job, log, lock)
            except OSError as error:
                print(error, file=log)
                return False
        self.job, self.program = job, job.program
        return True

    def ended(self) -> int | None:
        """Return the exit status of the job in hand, which has then left it; None where it goes on."""
        status = self.process.poll()  # before the answer: a process may end after it
        status = 0 if self._answered() else status
        if status is not None:
            self.job = None
        return status

    def terminate(self) -> None:
        """Ask the job in hand to save and end, and the process to end after it."""
        self.process.send_signal(signal.SIGTERM)
        if self._jobs:
            with suppress(OSError):  # it has ended
                self._jobs.shutdown(socket.SHUT_WR)

    def wait(self, seconds: float) -> None:
        """Wait for the end of the process; what goes on for longer is killed, with all that it has started."""
        try:
            self.process.wait(max(seconds, 0))
        except subprocess.TimeoutExpired:
            (os.killpg if self.session else os.kill)(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def end(self) -> None:
        """End the idle process."""
        if self._jobs:
            self._jobs.close()
            self._jobs = None
        if self.process:
            self.wait(STOP_SECONDS)

    def _hand(self, job: Job, log: IO[str], lock: int) -> None:
        """Hand a job to the process, or to a new one where this does not serve it."""
        serves = job.program is not None and job.program == self.program and self.process.poll() is None
        if not serves:
            self.end()  # before another starts: memory of a GPU is taken whole
        if job.program is None:
            self._start(job.command, log, lock)
            return
        if not serves:
            self._jobs, engine = socket.socketpair()
            with engine:
                command = (job.command[0], '-P', '-m', worker.__name__, str(engine.fileno()))
                self._start(command, log, engine.fileno())
        with suppress(BrokenPipeError, ConnectionResetError):  # its end, which `ended` sees, is that of the job
            worker.send(self._jobs, job.command, log.fileno(), lock)

    def _start(self, command: Sequence[str], log: IO[str], kept: int) -> None:
        with _bound_to(self.share.cores):
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **self.share.environment},
                pass_fds=(kept,),
                start_new_session=self.session,
            )

    def _answered(self) -> bool:
        """Whether the worker has answered that the current job succeeded."""
        try:
            return self._jobs is not None and self._jobs.recv(1, socket.MSG_DONTWAIT) == worker.DONE
        except (BlockingIOError, ConnectionResetError):
            return False


class Local:
    """Local engine. A context manager: jobs still at work are stopped at its end.

    Its workers may come from an earlier engine: the rounds of a search share programs.
    """

    def __init__(self, workers: Sequence[Worker], lock: int) -> None:
        """Take workers, and a file descriptor that is to stay open as long as a run is at work."""
        self._workers, self.lock = workers, lock
        self._waiting: list[Job] = []

    def submit(self, job: Job) -> None:
        """Put a job in line for a free share of the machine."""
        self._waiting.append(job)

    def poll(self) -> list[Event]:
        """Return the events of jobs that have ended, and of waiting jobs, which it starts where a share is free."""
        return [*self._ended(), *self._begun()]

    def stop(self) -> list[Event]:
        """As an engine's. What has not ended `STOP_SECONDS` after SIGTERM is killed, with all that it has started."""
        self._waiting.clear()
        stopped = [each for each in self._workers if each.job]
        for each in stopped:
            each.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        for each in stopped:
            each.wait(deadline - time.monotonic())
        return list(self._ended())

    def __enter__(self) -> 'Local':
        return self

    def __exit__(self, *exception: Any) -> None:
        self.stop()

    def _ended(self) -> Iterator[Event]:
        for each in self._workers:
            job = each.job
            if job and (status := each.ended()) is not None:
                yield Event(job.name, status)

    def _begun(self) -> Iterator[Event]:
        for each in self._workers:
            while self._waiting and not each.job:
                job = self._next(each)
                self._waiting.remove(job)
                begun = each.begin(job, self.lock)
                yield Event(job.name)
                if not begun:
                    yield Event(job.name, NO_START)

    def _next(self, free: Worker) -> Job:
        """The first job of the worker's last program, else of a program that no other worker has, else of any."""
        others = {each.program for each in self._workers if each is not free and each.program}
        own = (job for job in self._waiting if job.program and job.program == free.program)
        new = (job for job in self._waiting if job.program not in others)
        return next(own, None) or next(new, None) or self._waiting[0]


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
