# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Progress display of a sweep: a live table on a terminal, otherwise a line per event."""

import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from saccade.sweep.folder import SweepFolder
from saccade.sweep.record import Sweep, SweepRun
from saccade.train.process.terminal import say, verbatim

COLUMNS = ('run', 'status', 'step', 'loss', 'tokens/s', 'minutes')
_STYLES = {'running': 'bold', 'finished': 'green', 'failed': 'red', 'waiting': 'dim'}


class Lines:
    """Line display: a line for each run that begins or ends, and a summary at the end. A context manager."""

    def __init__(self, console: Console, folder: SweepFolder) -> None:
        self._console, self._folder = console, folder
        self._sweep: Sweep | None = None

    def say(self, text: str) -> None:
        """Print a line."""
        say(self._console, text)

    def changed(self, run: SweepRun) -> None:
        """Print the time, the status and the name of a run that began or ended."""
        ending = ''
        if run.status == 'failed':
            ending = f' (exit {run.exit}): {run.last_lines[-1] if run.last_lines else ""}'
        elif run.status == 'finished' and (loss := self._folder.progress(run).get('loss')) is not None:
            ending = f': loss {loss:z.4f}'
        self.say(f'{time.strftime("%H:%M:%S")}  {run.status:8s}  {run.name}{ending}')

    def refresh(self, sweep: Sweep) -> None:
        """Store the sweep for the summary; only runs that begin or end print a line."""
        self._sweep = sweep

    def __enter__(self) -> 'Lines':
        return self

    def __exit__(self, *exception: Any) -> None:
        if self._sweep:
            self.say(summary(self._sweep))


class SweepProgress:
    """Progress of the runs of a sweep, in words. It counts the time of runs whose beginning it is told."""

    def __init__(self, folder: SweepFolder) -> None:
        self._folder = folder
        self._since: dict[str, float] = {}

    def changed(self, run: SweepRun) -> None:
        """Store the time at which a run began."""
        if run.status == 'running':
            self._since[run.name] = time.monotonic()

    def row(self, run: SweepRun) -> list[str]:
        """Return the columns of a run, as in `COLUMNS`."""
        record = self._folder.progress(run) if run.status != 'waiting' else {}
        seconds = self._seconds(run)
        return [
            run.name,
            run.status,
            f'{record.get("step", 0):,}/{run.steps:,}',
            f'{record["loss"]:z.4f}' if 'loss' in record else '',
            f'{record["tokens_per_second"]:,.0f}' if 'tokens_per_second' in record else '',
            f'{seconds / 60:.1f}' if seconds is not None else '',
        ]

    def line(self, sweep: Sweep) -> str:
        """Return the number of runs in each state, and the time left."""
        return ', '.join([summary(sweep), *self._left(sweep)])

    def _seconds(self, run: SweepRun) -> float | None:
        """Return the seconds a run has taken; None if its beginning is not known and it has no record."""
        if run.status == 'running' and run.name in self._since:
            return time.monotonic() - self._since[run.name]
        return run.seconds if run.status == 'finished' else None

    def _left(self, sweep: Sweep) -> list[str]:
        """Return the time left of the sweep, in words: its remaining steps at the pace of finished runs, or of running
        ones.

        Empty until a run has a pace.
        """
        steps = {run.name: self._folder.progress(run).get('step', 0) for run in sweep.runs if run.status == 'running'}
        finished = [(run.seconds, run.steps) for run in sweep.runs if run.status == 'finished' and run.seconds]
        begun = [(self._seconds(run), steps[run.name]) for run in sweep.runs if steps.get(run.name)]
        seconds, taken = map(sum, zip(*(finished or begun or [(0, 0)]), strict=True))
        left = sum(run.steps - steps.get(run.name, 0) for run in sweep.runs if run.status in ('running', 'waiting'))
        if not (left and taken):
            return []
        return [f'about {left * seconds / taken / max(len(steps), 1) / 60:.0f} minutes left']


class Board:
    """Live table of the runs, redrawn while they run. A context manager."""

    def __init__(self, console: Console, folder: SweepFolder) -> None:
        self._console, self._progress = console, SweepProgress(folder)
        self._live = Live(console=console, auto_refresh=False)

    def say(self, text: str) -> None:
        """Print a line above the table."""
        say(self._console, text)

    def changed(self, run: SweepRun) -> None:
        """Store the time at which a run began."""
        self._progress.changed(run)

    def refresh(self, sweep: Sweep) -> None:
        """Draw the table with as many rows as fit, and the summary below it."""
        room = self._console.height - 2  # minus the summary and the cursor below the table
        rows = max(room - 1, 1)
        table = self._table(sweep, rows)
        while rows > 1 and (lines := len(self._console.render_lines(table))) > room:  # a long name takes several lines
            rows = max(min(rows * room // lines, rows - 1), 1)
            table = self._table(sweep, rows)
        self._live.update(Group(table, Text(self._progress.line(sweep))), refresh=True)

    def __enter__(self) -> 'Board':
        self._live.start()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._live.stop()

    def _table(self, sweep: Sweep, rows: int) -> Table:
        table = Table(box=None, pad_edge=False)
        for number, column in enumerate(COLUMNS):
            # Names differ at their ends, which an ellipsis would hide.
            table.add_column(
                column, overflow='ellipsis' if number else 'fold', justify='left' if number < 2 else 'right'
            )
        for run in shown(sweep.runs, rows):
            name, status, *numbers = self._progress.row(run)
            table.add_row(verbatim(name), Text(status, _STYLES[status]), *numbers)
        return table


def display(console: Console, folder: SweepFolder) -> Lines | Board:
    """Return the display for a console."""
    return (Board if console.is_terminal else Lines)(console, folder)


def ending(sweep: Sweep) -> list[str]:
    """Return a line for each failed run, with its reason, and a hint if not all runs have finished."""
    failed = [run for run in sweep.runs if run.status == 'failed']
    why = [f'  {run.name} (exit {run.exit}): {run.last_lines[-1] if run.last_lines else ""}' for run in failed]
    left = [] if all(run.status == 'finished' for run in sweep.runs) else ['The same command continues.']
    return [*why, *left]


def shown(runs: Sequence[SweepRun], rows: int) -> Sequence[SweepRun]:
    """Select the runs that fit: running ones first, then failed ones, then the next, then the last finished."""
    if len(runs) <= rows:
        return runs
    order = {'running': 0, 'failed': 1, 'waiting': 2, 'finished': 3}
    chosen = sorted(range(len(runs)), key=lambda at: (order[runs[at].status], at))[: max(rows, 1)]
    return [runs[at] for at in sorted(chosen)]


def summary(sweep: Sweep) -> str:
    """Return the number of runs in each state, in one line."""
    counts = Counter(run.status for run in sweep.runs)
    return ', '.join(f'{counts[status]} {status}' for status in _STYLES if counts[status])
