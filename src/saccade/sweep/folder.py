# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sweep folder: the sweep it belongs to, the launch that works in it, and the progress of its runs.

Two locks keep launches apart. One is held by the launch. The other passes to the processes it starts, and
so outlives a launch that is killed: the next one waits until those have ended, and none trains twice.
"""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

from saccade.sweep.record import Run, Sweep, read_sweep, sweep_file, write_sweep
from saccade.train.log.log import read
from saccade.train.log.provenance import read as starts
from saccade.train.process.lock import locked
from saccade.train.workdir import Workdir, absolute, differing
from saccade.types import UserError

TUNING = 'tuning'  # the folder, in a sweep's, of the sweep that is made before
SIZING = 'sizing'  # and of the short runs that are timed before
RUNG = 'steps='  # and how those of its rounds begin, where it has several
_NOT_EVALUATED = ('train', 'plan')  # splits whose records do not say that a run has ended


@dataclass(frozen=True)
class SweepFolder:
    """Folder of one sweep, which may not exist yet."""

    path: Path

    @classmethod
    def of(cls, path: str | Path) -> 'SweepFolder':
        """Return the folder at a path; `~` is a home folder."""
        return cls(absolute(path))

    @property
    def tuning(self) -> 'SweepFolder':
        """The folder of the runs by which the variants are tuned."""
        return SweepFolder(self.path / TUNING)

    def rung(self, steps: int | None) -> 'SweepFolder':
        """The folder of one round of a search, of runs of so many steps: this one where there is only one round.

        Raises:
            UserError: this one holds a search in one round.
        """
        if steps is None:
            return self
        if sweep_file(self.path).exists():
            raise UserError(f'{self.path}: holds a search without halving ({sweep_file(self.path).name}): name another')
        return SweepFolder(self.path / f'{RUNG}{steps}')

    @property
    def sizing(self) -> 'SweepFolder':
        """The folder of the short runs by which the cost of a sweep is predicted."""
        return SweepFolder(self.path / SIZING)

    @property
    def rung_steps(self) -> int | None:
        """The steps of the runs of a round of a search, by the folder's name; None for a search in one round."""
        steps = self.path.name.removeprefix(RUNG)
        return int(steps) if steps.isdecimal() else None

    @property
    def rungs(self) -> list['SweepFolder']:
        """The rounds of a search that have begun, the shortest runs first; none where there was no search."""
        if sweep_file(self.path).exists():
            return [self]
        found = {path.name.removeprefix(RUNG): path for path in self.path.glob(f'{RUNG}*') if sweep_file(path).exists()}
        return [SweepFolder(found[steps]) for steps in sorted(filter(str.isdecimal, found), key=int)]

    def joined(self, asked: Sweep) -> Sweep:
        """Return what is asked for, with those runs finished that have finished here, and write nothing.

        A sweep may grow: what is there must be part of what is asked for. A run that failed is to be begun again, even
        if it failed after its last evaluation.

        Raises:
            UserError: the folder holds something else, or another sweep.
        """
        there = read_sweep(self.path)
        if there is None:
            self._refuse_foreign()
            return asked
        self._refuse_other(there, asked)
        failed = {run.name for run in there.runs if run.status == 'failed'}
        seconds = {run.name: run.seconds for run in there.runs}
        runs = (
            replace(run, status='finished', exit=0, seconds=seconds.get(run.name))
            if run.name not in failed and self.finished(run)
            else run
            for run in asked.runs
        )
        return replace(asked, runs=tuple(runs))

    def write(self, sweep: Sweep) -> None:
        """Record how far the sweep has come.

        Raises:
            UserError: the disk is full or cannot be written to.
        """
        write_sweep(self.path, sweep)

    def run(self, run: Run) -> Path:
        """The folder of a run."""
        return self.path / run.name

    def log(self, run: Run) -> Path:
        """The file that takes what a run prints."""
        return self.run(run) / 'printed.log'

    def progress(self, run: Run) -> dict[str, Any]:
        """Return the last record of a run, with the last speed that was logged; empty where there is none."""
        metrics = Workdir(self.run(run)).metrics
        return _last_record(metrics, metrics.stat().st_size) if metrics.exists() else {}

    def speeds(self, run: Run) -> list[float]:
        """Return the tokens a second that a run has logged, in order."""
        records = _records(Workdir(self.run(run)).metrics)
        return [float(record['tokens_per_second']) for record in records if 'tokens_per_second' in record]

    def cores(self) -> int | None:
        """Return how many cores a run of this sweep, or of its search, had when it began; None where none has begun."""
        files = chain.from_iterable(self.path.glob(f'{runs}/provenance.jsonl') for runs in ('*', '*/*', '*/*/*'))
        return next((start['cores'] for file in files for start in starts(file) if start.get('cores', 0) > 0), None)

    def finished(self, run: Run) -> bool:
        """Whether a run has been evaluated after its last step."""
        records = _records(Workdir(self.run(run)).metrics)
        return any(record['step'] >= run.steps and record.get('split') not in _NOT_EVALUATED for record in records)

    @contextmanager
    def held(self, say: Callable[[str], Any]) -> Iterator[int]:
        """Keep other launches out, having waited for what an earlier one left at work.

        Args:
            say: told that there is something to wait for.

        Returns:
            A file descriptor for the runs' processes to inherit.

        Raises:
            UserError: another launch is at work in this folder.
        """
        waits = 'runs that an earlier launch began are still at work; waiting for them'
        with (
            locked(self.path / '.launch.lock', self._refuse_second),
            locked(self.path / '.runs.lock', lambda _: say(waits)) as runs,
        ):
            yield runs

    def _refuse_second(self, holder: str) -> NoReturn:
        raise UserError(f'{self.path}: another launch is at work on this sweep ({holder}); wait for it, or stop it')

    def _refuse_foreign(self) -> None:
        names = [] if not self.path.is_dir() else sorted(entry.name for entry in self.path.iterdir())
        names = [name for name in names if name not in (TUNING, SIZING) and not name.startswith('.')]
        if names or self.path.is_file():
            held = f'it holds {", ".join(names[:8])}' if names else 'it is a file'
            raise UserError(f'{self.path}: not a sweep; {held}: name a new or an empty folder')

    def _refuse_other(self, there: Sweep, asked: Sweep) -> None:
        wanted = {run.name: run for run in asked.runs}
        where = f'{self.path}: holds another sweep ({sweep_file(self.path).name})'
        lost = [run.name for run in there.runs if run.name not in wanted]
        if lost:
            more = f' and {len(lost) - 1} more' if len(lost) > 1 else ''
            raise UserError(f'{where}: its run {lost[0]}{more} is not asked for: name another folder')
        for run in there.runs:
            changed = set(run.overrides) ^ set(wanted[run.name].overrides)
            if changed:
                raise UserError(f'{where}: its run {run.name} differs in {min(changed)}: name another folder')
        fields = differing(there.base, asked.base)
        if fields:
            raise UserError(f'{where}: its base has {fields[0]}: name another folder')


@functools.lru_cache(maxsize=1024)
def _last_record(metrics: Path, size: int) -> dict[str, Any]:
    """Read the last record anew when the file's size changes: a display asks for every run's twice a second."""
    records = _records(metrics)
    speeds = [{'tokens_per_second': line['tokens_per_second']} for line in records if 'tokens_per_second' in line]
    return {name: value for part in (*speeds[-1:], *records[-1:]) for name, value in part.items()}


def _records(metrics: Path) -> list[dict[str, Any]]:
    try:
        return read(metrics)
    except UserError:  # the run itself will say so
        return []
