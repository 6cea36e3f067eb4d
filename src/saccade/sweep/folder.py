# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sweep folder: its sweep, the lock of the running launch, and the progress of the runs.

Two locks keep launches apart. One is held by the launch. The other is inherited by the processes it starts, so it
outlives a killed launch: the next launch waits until those processes have ended, and no run is trained twice.
"""

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

from saccade.sweep.record import PrimaryComparison, Sweep, SweepRun, read_sweep, sweep_file, write_sweep
from saccade.train.log.log import is_finished, read
from saccade.train.log.provenance import read as starts
from saccade.train.process.lock import locked
from saccade.train.workdir import Workdir, absolute, differing
from saccade.types import UserError

TUNING = 'tuning'  # subfolder of the search before the sweep
SIZING = 'sizing'  # subfolder of the short runs that are timed first
RUNG = 'steps='  # prefix of the folders of a search's rounds, if it has several


@dataclass(frozen=True)
class SweepFolder:
    """Folder of one sweep; it need not exist yet."""

    path: Path

    @classmethod
    def of(cls, path: str | Path) -> 'SweepFolder':
        """Return the folder at a path; `~` is a home folder."""
        return cls(absolute(path))

    @property
    def tuning(self) -> 'SweepFolder':
        """Folder of the runs that tune the variants."""
        return SweepFolder(self.path / TUNING)

    def rung(self, steps: int | None) -> 'SweepFolder':
        """Return the folder of one round of a search, by the steps of its runs: this folder if there is only one round.

        Raises:
            UserError: this folder holds a search with a single round.
        """
        if steps is None:
            return self
        if sweep_file(self.path).exists():
            raise UserError(f'{self.path}: holds a search without halving ({sweep_file(self.path).name}): name another')
        return SweepFolder(self.path / f'{RUNG}{steps}')

    @property
    def sizing(self) -> 'SweepFolder':
        """Folder of the short runs that predict the cost of a sweep."""
        return SweepFolder(self.path / SIZING)

    @property
    def rung_steps(self) -> int | None:
        """Steps per run of a search's round, from the folder's name; None for a search with a single round."""
        steps = self.path.name.removeprefix(RUNG)
        return int(steps) if steps.isdecimal() else None

    @property
    def rungs(self) -> list['SweepFolder']:
        """Rounds of a search that have begun, shortest runs first; empty without a search."""
        if sweep_file(self.path).exists():
            return [self]
        found = {path.name.removeprefix(RUNG): path for path in self.path.glob(f'{RUNG}*') if sweep_file(path).exists()}
        return [SweepFolder(found[steps]) for steps in sorted(filter(str.isdecimal, found), key=int)]

    def joined(self, asked: Sweep) -> Sweep:
        """Return the requested sweep, with runs marked as finished if they have finished here; write nothing.

        A sweep may grow: the recorded sweep must be part of the requested one. A failed run is started again,
        even if it failed after its last evaluation.

        Raises:
            UserError: the folder holds something other than a sweep, or another sweep.
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
        """Record the progress of the sweep.

        Raises:
            UserError: the disk is full or cannot be written to.
        """
        write_sweep(self.path, sweep)

    def run(self, run: SweepRun) -> Path:
        """Return the folder of a run."""
        return self.path / run.name

    def log(self, run: SweepRun) -> Path:
        """Return the log file of a run's output."""
        return self.run(run) / 'printed.log'

    def progress(self, run: SweepRun) -> dict[str, Any]:
        """Return the last record of a run, with the last logged speed; empty if there is none."""
        metrics = Workdir(self.run(run)).metrics
        return _last_record(metrics, metrics.stat().st_size) if metrics.exists() else {}

    def speeds(self, run: SweepRun) -> list[float]:
        """Return the logged speeds of a run, in tokens per second, in order."""
        records = _records(Workdir(self.run(run)).metrics)
        return [float(record['tokens_per_second']) for record in records if 'tokens_per_second' in record]

    def cores(self) -> int | None:
        """Return the number of cores of the runs of this sweep or its search; None where none has begun."""
        files = chain.from_iterable(self.path.glob(f'{runs}/provenance.jsonl') for runs in ('*', '*/*', '*/*/*'))
        return next((start['cores'] for file in files for start in starts(file) if start.get('cores', 0) > 0), None)

    def finished(self, run: SweepRun) -> bool:
        """True if a run was evaluated after its last step, or after the step at which it solved its task."""
        return is_finished(_records(Workdir(self.run(run)).metrics), run.steps)

    @contextmanager
    def held(self, say: Callable[[str], Any]) -> Iterator[int]:
        """Context that excludes other launches, after waiting for runs that an earlier launch left running.

        Args:
            say: called with a message if there is something to wait for.

        Returns:
            A file descriptor that the runs' processes must inherit.

        Raises:
            UserError: another launch is running in this folder.
        """
        waits = 'waiting for runs of an earlier launch, which are still running'
        with (
            locked(self.path / '.launch.lock', self._refuse_second),
            locked(self.path / '.runs.lock', lambda _: say(waits)) as runs,
        ):
            yield runs

    def _refuse_second(self, holder: str) -> NoReturn:
        raise UserError(f'{self.path}: another launch of this sweep is running ({holder}); wait for it, or stop it')

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
            raise UserError(f'{where}: its run {lost[0]}{more} is not part of this sweep: name another folder')
        for run in there.runs:
            changed = set(run.overrides) ^ set(wanted[run.name].overrides)
            if changed:
                raise UserError(f'{where}: its run {run.name} differs in {min(changed)}: name another folder')
        if there.primary != asked.primary:
            raise UserError(
                f'{where}: it has {_declared(there.primary)}, not {_declared(asked.primary)}, and the primary '
                'comparison is declared before the runs: name another folder'
            )
        fields = differing(there.base, asked.base)
        if fields:
            raise UserError(f'{where}: its base has {fields[0]}: name another folder')
        before, steps = there.base['steps'], asked.base['steps']
        if steps < before:  # more steps continue every run; finished runs cannot have fewer
            raise UserError(
                f'{where}: its runs have {before:,} steps, and {steps:,} steps are requested: name another folder'
            )


def _declared(primary: PrimaryComparison) -> str:
    return ', '.join(f'{name}={value!r}' for name, value in asdict(primary).items())


@functools.lru_cache(maxsize=1024)
def _last_record(metrics: Path, size: int) -> dict[str, Any]:
    """Read the last record again only when the file's size changes: a display asks for every run's twice a second."""
    records = _records(metrics)
    speeds = [{'tokens_per_second': line['tokens_per_second']} for line in records if 'tokens_per_second' in line]
    return {name: value for part in (*speeds[-1:], *records[-1:]) for name, value in part.items()}


def _records(metrics: Path) -> list[dict[str, Any]]:
    try:
        return read(metrics)
    except UserError:  # the run itself reports it
        return []
