# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Slurm engine, through submitit: runs as jobs of a cluster, one job array for all that are submitted together.

A job goes on when the launch that submitted it ends, and the next launch finds it again. A job whose time is nearly up,
or that must make room, is sent a signal: its run saves, and the job goes back in line under the same number.

Runs of one program share jobs, which import and compile once: see `sweep.slurm_job`. That pays for short runs only, so
a job that has used `_SHARE` of its time offers the runs that it has not begun, and each gets a job of its own.
"""

import ast
import difflib
import json
import math
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import redirect_stderr
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

from saccade.paths import read_text
from saccade.sweep.engine import Event, Job
from saccade.sweep.slurm_job import OFFERED, TAKEN, Training, claim, exit_of, read_state
from saccade.train.workdir import write_atomically, writing
from saccade.types import UserError

EVERY = 5.0  # seconds between two looks at the queue, which is everybody's
_NUMBERS = 'jobs.json'  # of the job of each run
_LOOKS = 2  # without a job, after which it has ended; its result may come late over a network's disk
_RESTARTS = 'max_num_timeout'  # submitit's name for how often a job whose time is up goes back in line
_RUNS = 'runs'  # our setting: how many runs of one program a job may have
_OURS = {_RESTARTS: 10, _RUNS: 4}  # settings that are not parameters of the executor, with their defaults
_SHARE = 0.1  # of its time, after which a job offers the runs that it has not begun


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
        self._offer_after = 60 * settings['time'] * _SHARE
        self._at_a_time = settings.get('array_parallelism', math.inf)
        alone = all(settings.get(name, 1) == 1 for name in ('nodes', 'ntasks_per_node'))
        self._most = settings.get(_RUNS, _OURS[_RUNS]) if alone else 1
        self._waiting: list[Job] = []
        self._jobs: dict[str, Job] = {}  # those that have not ended
        self._begun: set[str] = set()  # names of these
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
        events = [event for name in list(self._jobs) for event in self._events(name, queue)]
        self._take(queue)
        return events

    def stop(self) -> list[Event]:
        """Leave the jobs in the cluster's hands."""
        if self._jobs:
            numbers = dict.fromkeys(self._numbers[name] for name in self._jobs)
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
        new = [job for job in self._waiting if not self._is_under_way(job.name, queue)]
        for job in new:
            if (number := self._numbers.get(job.name)) and number not in queue:
                (self._folder / number / job.name).unlink(missing_ok=True)  # a new cluster numbers its jobs from 1 on
        groups = self._grouped(new)
        for group, number in zip(groups, self._submitted(groups), strict=True):
            self._numbers |= {job.name: number for job in group}
        write_atomically(self._folder / _NUMBERS, json.dumps(self._numbers, indent=1) + '\n')
        self._jobs |= {job.name: job for job in self._waiting}
        self._missed |= {job.name: 0 for job in self._waiting}
        self._waiting.clear()

    def _is_under_way(self, name: str, queue: Collection[str]) -> bool:
        """Whether a job in the queue has a run to begin or to end."""
        state = self._state(name) if self._numbers.get(name) in queue else TAKEN
        return state != TAKEN and exit_of(state, gone=False) is None

    def _grouped(self, jobs: Sequence[Job]) -> list[tuple[Job, ...]]:
        """Put runs of one program together, as many as a job may have, but no more than leave work for every job."""
        most = self._most
        if self._at_a_time < math.inf:
            most = min(most, math.ceil(len(jobs) / self._at_a_time))
        programs: dict[str, list[Job]] = {}
        for job in jobs:
            programs.setdefault(job.program or job.name, []).append(job)
        groups = []
        for runs in programs.values():
            count = math.ceil(len(runs) / most)
            groups += [tuple(runs[first::count]) for first in range(count)]
        return groups

    def _submitted(self, groups: Sequence[tuple[Job, ...]]) -> list[str]:
        """Submit a job for each group of runs and return their numbers."""
        from submitit.core.utils import FailedJobError, FailedSubmissionError

        if not groups:
            return []
        try:
            with redirect_stderr(StringIO()), self._executor.batch():  # which would repeat what sbatch complains of
                submitted = [
                    self._executor.submit(Training(group, self._folder, self._offer_after)) for group in groups
                ]
        except (FailedJobError, FailedSubmissionError) as error:
            # What sbatch said, out of all that submitit says of it.
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            complaint = next((line for line in reversed(lines) if 'error' in line), lines[-1])
            raise UserError(f'Slurm takes no such job: {complaint}') from error
        return [job.job_id for job in submitted]

    def _events(self, name: str, queue: Collection[str]) -> list[Event]:
        self._missed[name] = 0 if self._numbers[name] in queue else self._missed[name] + 1
        state, gone = self._state(name), self._missed[name] >= _LOOKS
        began_others = any((self._folder / self._numbers[name]).glob('*'))
        if state is None and (not gone or began_others):  # a job that began none was cancelled in line
            return []
        status = exit_of(state, gone)
        begins = [] if name in self._begun else [Event(name)]
        self._begun.add(name)
        if status is None:
            return begins
        self._begun.remove(name)
        del self._jobs[name]
        return [*begins, Event(name, status)]

    def _take(self, queue: Collection[str]) -> None:
        """Take runs that have not begun from jobs that offer them or have gone, to submit each in a job of its own."""
        room = self._at_a_time - len({self._numbers[name] for name in self._jobs} & {*queue})
        for name in list(self._jobs):
            folder = self._folder / self._numbers[name]
            free = (folder / OFFERED).exists() or self._missed[name] >= _LOOKS
            if room > 0 and free and claim(folder / name, TAKEN):
                self._waiting.append(replace(self._jobs.pop(name), program=None))
                room -= 1

    def _state(self, name: str) -> str | None:
        return read_state(self._folder / self._numbers[name] / name)


def settings_of(flags: Sequence[str], at_a_time: int | None = None) -> dict[str, Any]:
    """Read settings as KEY=VALUE: options of sbatch, with underscores, those of submitit, and `runs`.

    At most `runs` runs of one program are in one job, one after another.

    Args:
        at_a_time: how many jobs may be at work at the same time; None for as many as the cluster lets.

    Raises:
        UserError: one is written otherwise, there is no time, or `runs` is no whole number from 1 on.
    """
    pairs = [flag.partition('=') for flag in flags]
    if wrong := [name for name, equals, _ in pairs if not equals]:
        raise UserError(f'--slurm={wrong[0]}: write KEY=VALUE, as in --slurm=partition=gpu')
    settings = {name: _value(text) for name, _, text in pairs}
    if not isinstance(settings.get('time'), int):
        raise UserError('--slurm=time=MINUTES: say how long a job may take at a time; one that needs longer resumes')
    runs = settings.get(_RUNS, _OURS[_RUNS])
    if not (isinstance(runs, int) and runs >= 1):
        raise UserError(f'--slurm={_RUNS}={runs}: the most runs of a program in one job: a whole number from 1 on')
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
    known = [*SlurmExecutor._valid_parameters(), *_OURS]
    if unknown := [name for name in settings if name not in known]:
        match = difflib.get_close_matches(unknown[0], known, n=1)
        hint = f"did you mean '{match[0]}'?" if match else "others go into additional_parameters={'OPTION': 'VALUE'}"
        raise UserError(f'--slurm={unknown[0]}: submitit has no such setting; {hint}')
    with writing(folder):
        executor = SlurmExecutor(folder, max_num_timeout=settings.get(_RESTARTS, _OURS[_RESTARTS]))
    given = {name: value for name, value in settings.items() if name not in _OURS}
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


def _queue() -> set[str] | None:
    """The numbers of the user's jobs that have not ended; None where the queue cannot be seen."""
    asked = ['squeue', '--me', '--noheader', '--array', '--format=%i']
    answer = subprocess.run(asked, capture_output=True, text=True, check=False)
    return None if answer.returncode else set(answer.stdout.split())
