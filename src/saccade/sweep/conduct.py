# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Execution of a sweep: submit its runs to an engine, record their results, and display their progress."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from saccade.sweep.engine import Engine, Event, Job
from saccade.sweep.folder import SweepFolder
from saccade.sweep.live_board import LiveBoard
from saccade.sweep.program import program_of
from saccade.sweep.record import Sweep, SweepRun
from saccade.train.process.processes import stop_signal

LAST_LINES = 12  # lines of a failed run's output that are recorded
_POLL = 0.05  # seconds between two polls of the engine; after a run ends, its slot is idle until the next poll
_REFRESH = 0.5  # seconds between two updates of the display


@runtime_checkable
class SweepDisplay(Protocol):
    """Protocol of a progress display of a sweep; a context manager."""

    def __enter__(self) -> 'SweepDisplay': ...

    def __exit__(self, *exception: Any) -> None: ...

    def say(self, text: str) -> None:
        """Show a line, before or after the runs."""
        ...

    def changed(self, run: SweepRun) -> None:
        """Show that a run began or ended."""
        ...

    def refresh(self, sweep: Sweep) -> None:
        """Show the progress of all runs."""
        ...


def carry_out(
    folder: SweepFolder,
    asked: Sweep,
    engine: Callable[[int], AbstractContextManager[Engine]],
    command: Sequence[str],
    display: SweepDisplay,
) -> Sweep:
    """Execute the unfinished runs of a sweep in a folder, and return the sweep with their results.

    Args:
        engine: makes the engine from a file descriptor that must stay open while a run is running.
        command: command that trains a run, without its flags.

    Raises:
        UserError: the folder holds something else, or another launch is running in it.
    """
    with folder.held(display.say) as lock:
        sweep = folder.joined(asked)  # inside the lock, since runs of an earlier launch may have ended meanwhile
        with engine(lock) as runs, display, stop_signal() as stopped:
            return Conductor(folder, sweep, command, display).conduct(runs, stopped)


class Conductor:
    """Launch of a sweep. Finished runs are skipped; all others are started or resumed."""

    def __init__(self, folder: SweepFolder, sweep: Sweep, command: Sequence[str], display: SweepDisplay) -> None:
        """Store the sweep and the command.

        Args:
            sweep: sweep whose finished runs are marked as finished.
            command: command that trains a run, without its flags.
        """
        self.sweep = sweep
        self._folder, self._command, self._display = folder, tuple(command), display
        self._page = LiveBoard(folder)
        self._began: dict[str, float] = {}

    def conduct(self, engine: Engine, stopped: Callable[[], bool]) -> Sweep:
        """Execute every unfinished run; return the sweep with the results.

        Args:
            stopped: polled regularly; True ends the launch, and the runs save.
        """
        self._folder.write(self.sweep)
        left = {run.name for run in self.sweep.runs if run.status != 'finished'}
        for run in self.sweep.runs:
            if run.name in left:
                flags = (f'--config={self.sweep.config}', f'--workdir={self._folder.run(run)}')
                overrides = (*self.sweep.overrides, *run.overrides)
                program = program_of(self.sweep.config, overrides)
                engine.submit(Job(run.name, (*self._command, *flags, *overrides), self._folder.log(run), program))
        drawn = -_REFRESH
        while left and not stopped():
            left -= {event.name for event in engine.poll() if self._note(event)}
            if time.monotonic() - drawn >= _REFRESH:
                self._display.refresh(self.sweep)
                self._page.refresh(self.sweep)
                drawn = time.monotonic()
            time.sleep(_POLL)
        for event in engine.stop():
            self._note(event, stopping=True)
        self._display.refresh(self.sweep)
        self._page.close(self.sweep)
        return self.sweep

    def _note(self, event: Event, stopping: bool = False) -> bool:
        """Record an event; return True if the run ended."""
        run = next(run for run in self.sweep.runs if run.name == event.name)
        if event.exit is None:
            self._began[run.name] = time.monotonic()
            self._change(run, status='running', exit=None, last_lines=(), seconds=None)
        elif event.exit == 0 and self._folder.finished(run):
            seconds = time.monotonic() - self._began[run.name]
            self._change(run, status='finished', exit=0, last_lines=(), seconds=round(seconds, 1))
        elif event.exit == 0 or stopping:
            self._change(run, status='waiting', exit=event.exit)
        else:
            lines = last_lines(self._folder.log(run))
            self._change(run, status='failed', exit=event.exit, last_lines=lines)
        return event.exit is not None

    def _change(self, run: SweepRun, **changes: object) -> None:
        self.sweep = self.sweep.changed(run.name, **changes)
        self._folder.write(self.sweep)
        now = next(changed for changed in self.sweep.runs if changed.name == run.name)
        self._display.changed(now)
        self._page.changed(now)


def last_lines(log: Path, count: int = LAST_LINES) -> tuple[str, ...]:
    """Return the last non-empty lines of a file."""
    if not log.exists():
        return ()
    with log.open(encoding='utf-8', errors='replace') as lines:
        return tuple(deque((line.rstrip() for line in lines if line.strip()), maxlen=count))
