# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Work of a Slurm job: runs of one program, in sequence in one process, and the state of each run.

The state of a run is a file in the folder of its job. Its creator owns the run: the job, which then begins it, or the
engine, which then submits it in another job. Thus no run is begun twice, and none is lost when a launch ends: a job
offers its runs to the engine, and executes those that are not taken. Contents:

    begun               the job trains the run, or is requeued to resume it
    taken               the engine took the run from the job
    STATUS              the run ended with this exit status
    STATUS once gone    the run ended by a signal, or has other tasks: valid if the job does not come back
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
from saccade.sweep.local import NO_START, MachineShare, Worker
from saccade.train.process.processes import stop_signal
from saccade.train.workdir import write_atomically

OFFERED = '.offered'  # file next to the states: the engine may take runs that have not begun
TAKEN = 'taken'
_BEGUN = 'begun'
_ONCE_GONE = ' once gone'
_ENDED = re.compile(rf'(-?[0-9]{{1,3}})({_ONCE_GONE})?')
_CANCELLED = 128 + signal.SIGTERM  # status of a run that had not begun when its job was cancelled
_POLL = 0.1  # seconds between two polls of the current run


@dataclass
class SlurmTraining:
    """Work of a Slurm job, on each of its tasks: train runs of one program in sequence.

    Attributes:
        runs: runs of one program. A job of several tasks trains only the first.
        folder: folder of the states, with a subfolder per job number.
        offer_after: seconds after which runs that have not begun are offered to the engine.
    """

    runs: tuple[Job, ...]
    folder: Path
    offer_after: float

    def __call__(self) -> None:
        """Train the runs, except those that have ended or that the engine has taken.

        Raises:
            RuntimeError: a training ended with a non-zero status.
        """
        from submitit.slurm.slurm import SlurmJobEnvironment

        states = self.folder / SlurmJobEnvironment().job_id
        states.mkdir(parents=True, exist_ok=True)
        alone, task = os.environ.get('SLURM_NTASKS', '1') == '1', os.environ.get('SLURM_PROCID', '0')
        runs = self.runs if alone else (_shared_out(self.runs[0], task),)
        self._worker = Worker(MachineShare(), session=False)  # the session must receive Slurm's signals
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
                    failed.append(f'training ended with status {status}; see its output in {run.log}')
        self._worker.end()
        if failed:
            raise RuntimeError('\n'.join(failed))

    def checkpoint(self) -> Any:
        """Have the current run save and end; submitit then requeues the job with the returned work."""
        from submitit.helpers import DelayedSubmission

        if self._worker.job:
            self._worker.terminate()
        self._worker.end()
        return DelayedSubmission(SlurmTraining(self.runs, self.folder, self.offer_after))

    def _train(self, run: Job, states: Path) -> int:
        """Train a run and return its exit status; offer the other runs after `offer_after`."""
        with open(os.devnull) as lock:  # no lock is needed: a job owns its runs
            if not self._worker.begin(run, lock.fileno()):
                return NO_START
        while (status := self._worker.ended()) is None:
            if len(self.runs) > 1 and time.monotonic() >= self._offer_at:
                (states / OFFERED).touch()
                self._offer_at = math.inf
            time.sleep(_POLL)
        return status


def read_state(file: Path) -> str | None:
    """Return the state of a run; None where it has not begun, '' where the file cannot be read."""
    try:
        return file.read_text().strip()
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        return ''


def claim(file: Path, content: str) -> bool:
    """Create the state of a run without an owner; return True if this call was first."""
    try:
        with file.open('x') as new:
            new.write(content)
    except FileExistsError:
        return False
    return True


def exit_of(state: str | None, gone: bool) -> int | None:
    """Return the exit status of a run; None where it has not ended.

    Args:
        gone: the job has left the queue; a run without a status was then cancelled or lost, and has status 1.
    """
    ended = _ENDED.fullmatch(state or '')
    if ended and (gone or not ended[2]):
        return int(ended[1])
    return 1 if gone else None


def _is_ours(file: Path) -> bool:
    """True if the job owns a run to begin or to resume; its state is then set to begun."""
    if claim(file, _BEGUN):
        return True
    state = read_state(file) or ''
    resumes = state == _BEGUN or state.endswith(_ONCE_GONE)
    if resumes:
        write_atomically(file, _BEGUN)
    return resumes


def _shared_out(run: Job, task: str) -> Job:
    """Return the run of one of several tasks: a separate process, which joins the others."""
    log = run.log if task == '0' else run.log.with_suffix(f'.{task}.log')
    return replace(run, command=(*run.command, '--distributed'), log=log, program=None)
