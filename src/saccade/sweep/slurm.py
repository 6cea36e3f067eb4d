# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Slurm engine, through submitit: runs as jobs of a cluster, one job array for all that are submitted together.

A job goes on when the launch that submitted it ends, and the next launch finds it again. A job whose time is nearly up,
or that must make room, is sent a signal: its run saves, and the job goes back in line under the same number.
"""

import ast
import difflib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, suppress
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

from saccade.paths import read_text
from saccade.sweep.engine import Event, Job
from saccade.train.workdir import open_own, write_atomically, writing
from saccade.types import UserError

EVERY = 5.0  # seconds between two looks at the queue, which is everybody's
_NUMBERS = 'jobs.json'  # of the job of each run
_LOOKS = 2  # without a job, after which it has ended; its result may come late over a network's disk
_RESTARTS = 'max_num_timeout'  # submitit's name for how often a job whose time is up goes back in line


@dataclass
class Training:
    """Work of a Slurm job, on each of its tasks: train in a process of its own, which can be told to save.

    Attributes:
        log: takes what it prints.
        ended: takes the exit status, in digits; submitit's own file of the result is a pickle, and is not opened.
    """

    command: tuple[str, ...]
    log: Path
    ended: Path

    def __call__(self) -> None:
        """Train to the end.

        Raises:
            RuntimeError: the training ended with another status than 0.
        """
        alone, task = os.environ.get('SLURM_NTASKS', '1') == '1', os.environ.get('SLURM_PROCID', '0')
        command = self.command if alone else (*self.command, '--distributed')
        with open_own(self.log if task == '0' else self.log.with_suffix(f'.{task}.log'), 'a') as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        self._await()
        status = self._process.wait()
        if task == '0':
            write_atomically(self.ended, f'{status}\n')
        if status:
            raise RuntimeError(f'training ended with status {status}; {self.log} has what it printed')

    def checkpoint(self) -> Any:
        """Have the training save and end; submitit then puts the job back in line, to do what is returned."""
        from submitit.helpers import DelayedSubmission

        self._process.send_signal(signal.SIGTERM)
        self._await()
        return DelayedSubmission(Training(self.command, self.log, self.ended))

    def _await(self) -> None:
        """Wait for the end of the training, also within a wait that a signal has interrupted."""
        with suppress(ChildProcessError):  # it has ended, and was seen to
            os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)


class Slurm:
    """Slurm engine. A context manager, at whose end the jobs go on."""

    def __init__(
        self, folder: Path, settings: Mapping[str, Any], say: Callable[[str], Any], lock: int | None = None
    ) -> None:
        """Take up what earlier launches have submitted.

        Args:
            folder: of the sweep or run, on a disk that all hosts share; submitit's files go into `.slurm` in it.
            settings: of `settings_of`.
            say: told of the jobs that go on.
            lock: not needed; no job is begun twice, since its number is known.

        Raises:
            UserError: there is no Slurm here, it has no such settings, or what was written of earlier jobs is damaged.
        """
        self._folder, self._say = folder / '.slurm', say
        self._executor = _executor(self._folder, settings)
        self._numbers = _numbers(self._folder / _NUMBERS)
        self._waiting: list[Job] = []
        self._begun: dict[str, bool] = {}  # of those that have not ended
        self._missed: dict[str, int] = {}
        self._looked = -EVERY

    def submit(self, job: Job) -> None:
        """Put a job in line; it is submitted at the next `poll`.

        Raises:
            UserError: the folder of its log cannot be written to.
        """
        with writing(job.log.parent):
            job.log.parent.mkdir(parents=True, exist_ok=True)
        self._waiting.append(job)

    def poll(self) -> list[Event]:
        """Submit the waiting jobs as one array; return what has happened since the queue was last looked at.

        Raises:
            UserError: Slurm does not answer, or refuses the jobs.
        """
        if self._waiting:
            self._submit_all()
        if time.monotonic() - self._looked < EVERY:
            return []
        self._looked, queue = time.monotonic(), _queue()
        if queue is None:  # it may be seen the next time
            return []
        return [event for name in list(self._begun) for event in self._events(name, queue)]

    def stop(self) -> list[Event]:
        """Leave the jobs in the cluster's hands."""
        if self._begun:
            numbers = [self._numbers[name] for name in self._begun]
            end = shlex.join(['scancel', *numbers])
            self._say(f'The jobs go on, and the same command finds them; to end them: {end}')
        return []

    def __enter__(self) -> 'Slurm':
        return self

    def __exit__(self, *exception: Any) -> None:
        pass

    def _submit_all(self) -> None:
        """Submit the waiting jobs, except those that an earlier launch submitted and that have not ended."""
        queue = _queue()
        if queue is None:
            raise UserError('Slurm does not answer: squeue fails')
        new = [job for job in self._waiting if self._numbers.get(job.name) not in queue]
        self._numbers |= {job.name: number for job, number in zip(new, self._submitted(new), strict=True)}
        write_atomically(self._folder / _NUMBERS, json.dumps(self._numbers, indent=1) + '\n')
        self._begun |= {job.name: False for job in self._waiting}
        self._waiting.clear()

    def _submitted(self, jobs: Sequence[Job]) -> list[str]:
        """Submit jobs and return their numbers."""
        from submitit.core.utils import FailedJobError, FailedSubmissionError

        if not jobs:
            return []
        trainings = [Training(job.command, job.log, self._ended(job.name)) for job in jobs]
        for training in trainings:
            training.ended.unlink(missing_ok=True)  # of an earlier job
        try:
            with redirect_stderr(StringIO()), self._executor.batch():  # which would repeat what sbatch complains of
                submitted = [self._executor.submit(training) for training in trainings]
        except (FailedJobError, FailedSubmissionError) as error:
            # What sbatch said, out of all that submitit says of it.
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            complaint = next((line for line in reversed(lines) if 'error' in line), lines[-1])
            raise UserError(f'Slurm takes no such job: {complaint}') from error
        return [job.job_id for job in submitted]

    def _events(self, name: str, queue: Mapping[str, str]) -> list[Event]:
        state = queue.get(self._numbers[name])
        self._missed[name] = 0 if state else self._missed.get(name, 0) + 1
        begins = not self._begun[name] and (state == 'RUNNING' or self._missed[name] >= _LOOKS)
        self._begun[name] |= begins
        ends = self._missed[name] >= _LOOKS and self._begun.pop(name)
        return [*([Event(name)] if begins else []), *([Event(name, self._exit(name))] if ends else [])]

    def _exit(self, name: str) -> int:
        """Return the exit status of a job's training; 1 for a job that was cancelled or lost and left none."""
        try:
            return int(self._ended(name).read_text())
        except (OSError, ValueError):
            return 1

    def _ended(self, name: str) -> Path:
        """The file for the exit status of a run."""
        return self._folder / f'{name}.ended'


def settings_of(flags: Sequence[str], at_a_time: int | None = None) -> dict[str, Any]:
    """Read settings as KEY=VALUE: options of sbatch, with underscores, and those of submitit.

    Args:
        at_a_time: how many jobs may be at work at the same time; None for as many as the cluster lets.

    Raises:
        UserError: one is written otherwise, or there is no time.
    """
    pairs = [flag.partition('=') for flag in flags]
    if wrong := [name for name, equals, _ in pairs if not equals]:
        raise UserError(f'--slurm={wrong[0]}: write KEY=VALUE, as in --slurm=partition=gpu')
    settings = {name: _value(text) for name, _, text in pairs}
    if not isinstance(settings.get('time'), int):
        raise UserError('--slurm=time=MINUTES: say how long a job may take at a time; one that needs longer resumes')
    return settings if at_a_time is None else {**settings, 'array_parallelism': at_a_time}


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _executor(folder: Path, settings: Mapping[str, Any]) -> Any:
    if shutil.which('sbatch') is None:
        raise UserError('there is no Slurm here: sbatch is not found; start this where jobs are submitted')
    try:
        from submitit import SlurmExecutor
    except ImportError:
        raise UserError("submitit is not installed: pip install -e '.[slurm]'") from None
    known = [*SlurmExecutor._valid_parameters(), _RESTARTS]
    if unknown := [name for name in settings if name not in known]:
        match = difflib.get_close_matches(unknown[0], known, n=1)
        hint = f"did you mean '{match[0]}'?" if match else "others go into additional_parameters={'OPTION': 'VALUE'}"
        raise UserError(f'--slurm={unknown[0]}: submitit has no such setting; {hint}')
    with writing(folder):
        executor = SlurmExecutor(folder, max_num_timeout=settings.get(_RESTARTS, 10))
    given = {name: value for name, value in settings.items() if name != _RESTARTS}
    executor.update_parameters(**{'job_name': folder.parent.name, 'stderr_to_stdout': True, **given})
    return executor


def _numbers(file: Path) -> dict[str, str]:
    """Numbers of the jobs that earlier launches have submitted, by the name of the run."""
    try:
        numbers = json.loads(read_text(file)) if file.exists() else {}
        if not all(re.fullmatch(r'\d+(_\d+)?', number) for number in numbers.values()):
            raise ValueError('it holds what is no number of a job')
        return numbers
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(
            f'{file} is damaged ({error}): squeue shows the jobs that go on; scancel them, and delete the file'
        ) from None


def _queue() -> dict[str, str] | None:
    """The state of each of the user's jobs that has not ended, by number; None where the queue cannot be seen."""
    asked = ['squeue', '--me', '--noheader', '--array', '--format=%i %T']
    answer = subprocess.run(asked, capture_output=True, text=True, check=False)
    return None if answer.returncode else dict(line.split(maxsplit=1) for line in answer.stdout.splitlines())
