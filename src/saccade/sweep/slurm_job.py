# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Work of a Slurm job: runs of one program, one after another in one process, and the state of each of them.

The state of a run is a file in a folder of its job. Whoever creates it has the run: the job, which then begins it, or
the engine, which then gives it to another job. No run is begun twice that way, and none is lost when a launch ends:
a job offers its runs to the engine, and does itself what nobody has taken. Contents:

    begun               the job trains the run, or waits in line to resume it
    taken               the engine took the run from the job
    STATUS              the run ended with this exit status
    STATUS once gone    the run ended because of a signal, or has other tasks: this counts if the job does not come back
"""

import math
import os
import re
import signal
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from saccade.sweep.engine import Job
from saccade.sweep.local import NO_START, Share, Worker
from saccade.train.process.processes import stop_signal
from saccade.train.workdir import write_atomically

OFFERED = '.offered'  # file next to the states: the engine may take runs that have not begun
TAKEN = 'taken'
_BEGUN = 'begun'
_ONCE_GONE = ' once gone'
_ENDED = re.compile(rf'(-?[0-9]{{1,3}})({_ONCE_GONE})?')
_CANCELLED = 128 + signal.SIGTERM  # status of a run that had not begun when its job was cancelled
_POLL = 0.1  # seconds between two looks at the run in hand


@dataclass
class Training:
    """Work of a Slurm job, on each of its tasks: train runs of one program one after another.

    Attributes:
        runs: of one program. A job of several tasks trains only the first.
        folder: of the states, which are in a folder for each job, by its number.
        offer_after: seconds after which runs that have not begun are offered to the engine.
    """

    runs: tuple[Job, ...]
    folder: Path
    offer_after: float

    def __call__(self) -> None:
        """Train the runs to their ends, except those that have ended or that the engine has taken.

        Raises:
            RuntimeError: a training ended with another status than 0.
        """
        from submitit.slurm.slurm import SlurmJobEnvironment

        states = self.folder / SlurmJobEnvironment().job_id
        states.mkdir(parents=True, exist_ok=True)
        alone, task = os.environ.get('SLURM_NTASKS', '1') == '1', os.environ.get('SLURM_PROCID', '0')
        runs = self.runs if alone else (_shared_out(self.runs[0], task),)
        self._worker = Worker(Share(), session=False)  # Slurm's signals and its end of the job are to reach it
        self._offer_at = time.monotonic() + self.offer_after
        failed = []
        with stop_signal((signal.SIGTERM,)) as stopped:
            for run in runs:
                state = states / run.name
                if task == '0' and not _is_ours(state):
                    continue
                status = _CANCELLED if stopped() else self._train(run, states)
                if task == '0':
                    write_atomically(state, f'{status}{"" if alone and not stopped() else _ONCE_GONE}\n')
                if status:
                    failed.append(f'training ended with status {status}; {run.log} has what it printed')
        self._worker.end()
        if failed:
            raise RuntimeError('\n'.join(failed))

    def checkpoint(self) -> Any:
        """Have the run in hand save and end; submitit then puts the job back in line, to do what is returned."""
        from submitit.helpers import DelayedSubmission

        if self._worker.job:
            self._worker.terminate()
        self._worker.end()
        return DelayedSubmission(Training(self.runs, self.folder, self.offer_after))

    def _train(self, run: Job, states: Path) -> int:
        """Train a run and return its exit status; offer the others when it is time."""
        with open(os.devnull) as lock:  # not needed: a job has its runs for itself
            if not self._worker.begin(run, lock.fileno()):
                return NO_START
        while (status := self._worker.ended()) is None:
            if len(self.runs) > 1 and time.monotonic() >= self._offer_at:
                (states / OFFERED).touch()
                self._offer_at = math.inf
            time.sleep(_POLL)
        return status


def read_state(file: Path) -> str | None:
    """Read the state of a run; None where it has not begun, empty where the file cannot be read."""
    try:
        return file.read_text().strip()
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return ''


def claim(file: Path, content: str) -> bool:
    """Create the state of a run that nobody has; tell whether this was first."""
    try:
        with file.open('x') as new:
            new.write(content)
    except FileExistsError:
        return False
    return True


def exit_of(state: str | None, gone: bool) -> int | None:
    """Return the exit status of a run; None where it is still to come.

    Args:
        gone: whether the job has left the queue; a run without a status then has 1, since it was cancelled or lost.
    """
    ended = _ENDED.fullmatch(state or '')
    if ended and (gone or not ended[2]):
        return int(ended[1])
    return 1 if gone else None


def _is_ours(file: Path) -> bool:
    """Whether the job has a run to begin or to resume; its state then says so."""
    if claim(file, _BEGUN):
        return True
    state = read_state(file) or ''
    resumes = state == _BEGUN or state.endswith(_ONCE_GONE)
    if resumes:
        write_atomically(file, _BEGUN)
    return resumes


def _shared_out(run: Job, task: str) -> Job:
    """The part of a run that a task of several has: a process of its own, which joins the others."""
    log = run.log if task == '0' else run.log.with_suffix(f'.{task}.log')
    return replace(run, command=(*run.command, '--distributed'), log=log, program=None)
