# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Local engine: runs in processes of this machine, one per GPU or per equal share of the cores.

Runs of one program (seeds, learning rates, rounds of a search) are executed by one worker in sequence, so imports,
tracing and compilation happen once: see `sweep.worker`.
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

# Seconds between SIGTERM and SIGKILL, for a run to save: more than a step, a save and `CLOSE_SECONDS`.
STOP_SECONDS = 300.0
_RUN_BYTES = 4 * 2**30  # memory per run, if the number of parallel runs is not given
NO_START = 127  # a shell's exit status for a command that cannot be started


@dataclass(frozen=True)
class MachineShare:
    """Share of the machine for one process. Attributes: cores, none with a GPU; environment variables."""

    cores: frozenset[int] = frozenset()
    environment: Mapping[str, str] = field(default_factory=dict)


def shares(jobs: int | None = None, before: int | None = None) -> list[MachineShare]:
    """Divide this machine: one GPU each, or an equal number of cores.

    The number of cores changes the last bits of a sum, so all runs of a sweep get the same number.

    Args:
        jobs: number of parallel runs. None for one per GPU; without a GPU, one per core as far as memory allows, since
            small runs take less time in parallel on one core each than in sequence on all cores.
        before: number of cores of the sweep's earlier runs; without `jobs`, continued runs get the same number.

    Raises:
        UserError: there are fewer GPUs or cores than `jobs`.
    """
    gpus, cores = gpus_here(), _cores()
    there, what = (len(gpus), 'GPU') if gpus else (len(cores), 'core')
    if jobs is not None and not 1 <= jobs <= there:
        raise UserError(f'--jobs={jobs}: must be between 1 and {there}, one {what} per job')
    if gpus:
        return [MachineShare(environment={'CUDA_VISIBLE_DEVICES': gpu}) for gpu in gpus[:jobs]]
    each = len(cores) // jobs if jobs else min(before or -(-len(cores) // _runs_in_memory()), len(cores))
    return [MachineShare(frozenset(cores[first : first + each])) for first in range(0, len(cores) - each + 1, each)][
        :jobs
    ]


def shared(shares: Sequence[MachineShare], before: int | None) -> str:
    """Describe the division of this machine in a line, and the effect if earlier runs of the sweep had other cores."""
    cores = len(shares[0].cores)
    each = 'a GPU each' if not cores else 'a core each' if cores == 1 else f'{cores} cores each'
    changes = f'; earlier runs had {before}, which changes the last bits of sums' if before not in (None, cores) else ''
    return f'jobs        {len(shares)} in parallel, {each}{changes if cores else ""}'


def _runs_in_memory() -> int:
    return max(os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') // _RUN_BYTES, 1)


class Worker:
    """Share of the machine with its process, for one job at a time. A process serves one program, or one job without
    one.

    Attributes:
        share: share of the machine.
        session: start processes in a session of their own, so that Ctrl-C reaches only the launch, which asks them to
            save.
        job: current job; None where the share is free.
        program: program of the last job.
        process: process of the current job, or of the last.
    """

    def __init__(self, share: MachineShare, session: bool = True) -> None:
        self.share, self.session = share, session
        self.job: Job | None = None
        self.program: str | None = None
        self.process: subprocess.Popen | None = None
        self._jobs: socket.socket | None = None

    def begin(self, job: Job, lock: int) -> bool:
        """Start a job; return False if its command cannot be started, which its log then says."""
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
        """Return the exit status of the current job once it has ended, and free the share; None while it is running."""
        status = self.process.poll()  # before the answer: a process may end after it
        status = 0 if self._answered() else status
        if status is not None:
            self.job = None
        return status

    def terminate(self) -> None:
        """Ask the current job to save and end, and the process to end after it."""
        self.process.send_signal(signal.SIGTERM)
        if self._jobs:
            with suppress(OSError):  # the process has ended
                self._jobs.shutdown(socket.SHUT_WR)

    def wait(self, seconds: float) -> None:
        """Wait for the end of the process; kill it after `seconds`, with all processes that it started."""
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
        """Send a job to the process, or start a new process if it does not serve the job's program."""
        serves = job.program is not None and job.program == self.program and self.process.poll() is None
        if not serves:
            self.end()  # before another process starts, since JAX reserves the memory of a GPU
        if job.program is None:
            self._start(job.command, log, lock)
            return
        if not serves:
            self._jobs, engine = socket.socketpair()
            with engine:
                command = (job.command[0], '-P', '-m', worker.__name__, str(engine.fileno()))
                self._start(command, log, engine.fileno())
        with suppress(BrokenPipeError, ConnectionResetError):  # the process has ended, which `ended` reports
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
        """True if the worker has answered that the current job succeeded."""
        try:
            return self._jobs is not None and self._jobs.recv(1, socket.MSG_DONTWAIT) == worker.DONE
        except (BlockingIOError, ConnectionResetError):
            return False


class Local:
    """Local engine. A context manager: jobs still running are stopped at its end.

    Its workers may come from an earlier engine, since rounds of a search share programs.
    """

    def __init__(self, workers: Sequence[Worker], lock: int) -> None:
        """Store workers, and a file descriptor that must stay open while a run is running."""
        self._workers, self.lock = workers, lock
        self._waiting: list[Job] = []

    def submit(self, job: Job) -> None:
        """Put a job in the queue for a free share of the machine."""
        self._waiting.append(job)

    def poll(self) -> list[Event]:
        """Start waiting jobs where a share is free; return the events of jobs that ended or began."""
        return [*self._ended(), *self._begun()]

    def stop(self) -> list[Event]:
        """Stop all jobs. A job that has not ended `STOP_SECONDS` after SIGTERM is killed, with all that it started."""
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
        """Return the first job of the worker's last program, else of a program without a worker, else of any."""
        others = {each.program for each in self._workers if each is not free and each.program}
        own = (job for job in self._waiting if job.program and job.program == free.program)
        new = (job for job in self._waiting if job.program not in others)
        return next(own, None) or next(new, None) or self._waiting[0]


@contextmanager
def _bound_to(cores: frozenset[int]) -> Iterator[None]:
    """Bind processes started in this context to these cores; a process inherits them from the starting thread."""
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
