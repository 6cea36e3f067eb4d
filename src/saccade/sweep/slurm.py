# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Slurm engine, through submitit: runs as jobs of a cluster, with one job array for all that are submitted together.

A job outlives the launch that submitted it, and the next launch finds it again. A job near its time limit or about to
be
preempted gets a signal: its run saves, and the job is requeued under the same number.

Runs of one program share jobs, which import and compile once: see `sweep.slurm_job`. That pays only for short runs, so
a job that has used `_SHARE` of its time offers the runs that it has not begun, and each gets a separate job.
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
from saccade.sweep.slurm_job import OFFERED, TAKEN, SlurmTraining, claim, exit_of, read_state
from saccade.train.workdir import write_atomically, writing
from saccade.types import UserError

EVERY = 5.0  # seconds between two queries of the queue, which all users share
_NUMBERS = 'jobs.json'  # job number of each run
_LOOKS = 2  # queries without a job after which it has ended; a network disk may show its result late
_RESTARTS = 'max_num_timeout'  # submitit's name for the maximum number of requeues at the time limit
_RUNS = 'runs'  # our setting: maximum number of runs of one program per job
_OURS = {_RESTARTS: 10, _RUNS: 4}  # settings that are not parameters of the executor, with their defaults
_SHARE = 0.1  # fraction of its time after which a job offers the runs that it has not begun


class Slurm:
    """Slurm engine. A context manager; jobs continue after its end."""

    def __init__(
        self, folder: Path, settings: Mapping[str, Any], say: Callable[[str], Any], lock: int | None = None
    ) -> None:
        """Resume the jobs of earlier launches.

        Args:
            folder: folder of the sweep or run, on a disk that all hosts share; submitit's files are in its `.slurm`.
            settings: result of `settings_of`.
            say: called with a message on jobs that continue.
            lock: unused; no job is started twice, since its number is recorded.

        Raises:
            UserError: Slurm is not installed, a setting is unknown, or the record of earlier jobs is damaged.
        """
        self._folder, self._say = folder / '.slurm', say
        self._executor = _executor(self._folder, settings)
        self._numbers = _numbers(self._folder / _NUMBERS)
        self._offer_after = 60 * settings['time'] * _SHARE
        self._at_a_time = settings.get('array_parallelism', math.inf)
        alone = all(settings.get(name, 1) == 1 for name in ('nodes', 'ntasks_per_node'))
        self._most = settings.get(_RUNS, _OURS[_RUNS]) if alone else 1
        self._waiting: list[Job] = []
        self._jobs: dict[str, Job] = {}  # jobs that have not ended
        self._begun: set[str] = set()  # names of those that have begun
        self._missed: dict[str, int] = {}
        self._looked = -EVERY

    def submit(self, job: Job) -> None:
        """Put a job in the queue; it is submitted at the next `poll`.

        Raises:
            UserError: the folder of its log cannot be written to.
        """
        with writing(job.log.parent):
            job.log.parent.mkdir(parents=True, exist_ok=True)
        self._waiting.append(job)

    def poll(self) -> list[Event]:
        """Submit the waiting jobs as one array; return the events since the last query of the queue.

        Raises:
            UserError: Slurm does not answer, or rejects the jobs.
        """
        if self._waiting:
            self._submit_all()
        if time.monotonic() - self._looked < EVERY:
            return []
        self._looked, queue = time.monotonic(), _queue()
        if queue is None:  # the next query may succeed
            return []
        events = [event for name in list(self._jobs) for event in self._events(name, queue)]
        self._take(queue)
        return events

    def stop(self) -> list[Event]:
        """Leave the jobs running in the cluster, with a message on how to end them."""
        if self._jobs:
            numbers = dict.fromkeys(self._numbers[name] for name in self._jobs)
            end = shlex.join(['scancel', *numbers])
            self._say(f'The jobs continue, and the same command finds them; to end them: {end}')
        return []

    def __enter__(self) -> 'Slurm':
        return self

    def __exit__(self, *exception: Any) -> None:
        pass

    def _submit_all(self) -> None:
        """Submit the waiting jobs, except jobs of an earlier launch that have not ended."""
        queue = _queue()
        if queue is None:
            raise UserError('Slurm does not answer: squeue fails')
        new = [job for job in self._waiting if not self._is_under_way(job.name, queue)]
        for job in new:
            if (number := self._numbers.get(job.name)) and number not in queue:
                (self._folder / number / job.name).unlink(missing_ok=True)  # a new cluster restarts job numbers at 1
        groups = self._grouped(new)
        for group, number in zip(groups, self._submitted(groups), strict=True):
            self._numbers |= {job.name: number for job in group}
        write_atomically(self._folder / _NUMBERS, json.dumps(self._numbers, indent=1) + '\n')
        self._jobs |= {job.name: job for job in self._waiting}
        self._missed |= {job.name: 0 for job in self._waiting}
        self._waiting.clear()

    def _is_under_way(self, name: str, queue: Collection[str]) -> bool:
        """True if a job in the queue will begin or end a run."""
        state = self._state(name) if self._numbers.get(name) in queue else TAKEN
        return state != TAKEN and exit_of(state, gone=False) is None

    def _grouped(self, jobs: Sequence[Job]) -> list[tuple[Job, ...]]:
        """Group runs of one program, up to the maximum per job, without leaving parallel jobs idle."""
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
        """Submit a job for each group of runs, and return the job numbers."""
        from submitit.core.utils import FailedJobError, FailedSubmissionError

        if not groups:
            return []
        try:
            with redirect_stderr(StringIO()), self._executor.batch():  # it would repeat sbatch's errors
                submitted = [
                    self._executor.submit(SlurmTraining(group, self._folder, self._offer_after)) for group in groups
                ]
        except (FailedJobError, FailedSubmissionError) as error:
            # Extract sbatch's error from submitit's message.
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            complaint = next((line for line in reversed(lines) if 'error' in line), lines[-1])
            raise UserError(f'Slurm rejects the job: {complaint}') from error
        return [job.job_id for job in submitted]

    def _events(self, name: str, queue: Collection[str]) -> list[Event]:
        self._missed[name] = 0 if self._numbers[name] in queue else self._missed[name] + 1
        state, gone = self._state(name), self._missed[name] >= _LOOKS
        began_others = any((self._folder / self._numbers[name]).glob('*'))
        if state is None and (not gone or began_others):  # a job that began none was cancelled in the queue
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
        """Withdraw runs that have not begun from jobs that offer them or are gone, to submit each in a separate job."""
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
    """Read settings from KEY=VALUE: sbatch options (with underscores), submitit's settings, and `runs`.

    `runs` is the maximum number of runs of one program per job, executed in sequence.

    Args:
        at_a_time: maximum number of parallel jobs; None for the cluster's limit.

    Raises:
        UserError: a setting has another form, `time` is missing, or `runs` is not a positive whole number.
    """
    pairs = [flag.partition('=') for flag in flags]
    if wrong := [name for name, equals, _ in pairs if not equals]:
        raise UserError(f'--slurm={wrong[0]}: write KEY=VALUE, as in --slurm=partition=gpu')
    settings = {name: _value(text) for name, _, text in pairs}
    if not isinstance(settings.get('time'), int):
        raise UserError('--slurm=time=MINUTES: give the time limit of a job; one that needs longer resumes')
    runs = settings.get(_RUNS, _OURS[_RUNS])
    if not (isinstance(runs, int) and runs >= 1):
        raise UserError(f'--slurm={_RUNS}={runs}: the maximum number of runs per job must be a positive whole number')
    return settings if at_a_time is None else {**settings, 'array_parallelism': at_a_time}


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _executor(folder: Path, settings: Mapping[str, Any]) -> Any:
    if shutil.which('sbatch') is None:
        raise UserError('Slurm is not installed here: sbatch is not found; start this where jobs are submitted')
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
    """Return the numbers of the jobs of earlier launches, by run name."""
    try:
        numbers = json.loads(read_text(file)) if file.exists() else {}
        if not all(re.fullmatch(r'\d+(_\d+)?', number) for number in numbers.values()):
            raise ValueError('a value is not a job number')
        return numbers
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise UserError(
            f'{file} is damaged ({error}): squeue shows the running jobs; scancel them, and delete the file'
        ) from None


def _queue() -> set[str] | None:
    """Return the numbers of the user's jobs that have not ended; None where the query fails."""
    asked = ['squeue', '--me', '--noheader', '--array', '--format=%i']
    answer = subprocess.run(asked, capture_output=True, text=True, check=False)
    return None if answer.returncode else set(answer.stdout.split())
