# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Execution of a sweep: submit its runs to an engine, record how each ends, show how far they are."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from saccade.sweep.engine import Engine, Event, Job
from saccade.sweep.folder import SweepFolder
from saccade.sweep.program import program_of
from saccade.sweep.record import Run, Sweep
from saccade.train.process.processes import stop_signal

LAST_LINES = 12  # kept of what a failed run printed
_POLL = 0.05  # seconds between two looks at the engine: a share of the machine is idle until one sees that a run ended
_REFRESH = 0.5  # between two drawings of the display


@runtime_checkable
class Display(Protocol):
    """Protocol of a progress display of a sweep, a context manager."""

    def __enter__(self) -> 'Display': ...

    def __exit__(self, *exception: Any) -> None: ...

    def say(self, text: str) -> None:
        """Show a line, before or after the runs."""
        ...

    def changed(self, run: Run) -> None:
        """Show that a run has begun or ended."""
        ...

    def refresh(self, sweep: Sweep) -> None:
        """Show how far all have come."""
        ...


def carry_out(
    folder: SweepFolder,
    asked: Sweep,
    engine: Callable[[int], AbstractContextManager[Engine]],
    command: Sequence[str],
    display: Display,
) -> Sweep:
    """Carry out what a folder does not yet have of a sweep, and return the sweep as it then is.

    Args:
        engine: makes the engine, given a file descriptor that is to stay open as long as a run is at work.
        command: what trains a run, before its flags.

    Raises:
        UserError: the folder holds something else, or another launch is at work in it.
    """
    with folder.held(display.say) as lock:
        sweep = folder.joined(asked)  # only now: an earlier launch's runs may have ended meanwhile
        with engine(lock) as runs, display, stop_signal() as stopped:
            return Conductor(folder, sweep, command, display).conduct(runs, stopped)


class Conductor:
    """Launch of a sweep. Runs that have finished stay as they are; all others are started or resumed."""

    def __init__(self, folder: SweepFolder, sweep: Sweep, command: Sequence[str], display: Display) -> None:
        """Take what there is to do.

        Args:
            sweep: with the runs that have finished marked so.
            command: what trains a run, before its flags.
        """
        self.sweep = sweep
        self._folder, self._command, self._display = folder, tuple(command), display
        self._began: dict[str, float] = {}

    def conduct(self, engine: Engine, stopped: Callable[[], bool]) -> Sweep:
        """Carry out every run that has not finished; return the sweep as it then is.

        Args:
            stopped: asked between two looks at the engine; true ends the launch, and the runs save.
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
                drawn = time.monotonic()
            time.sleep(_POLL)
        for event in engine.stop():
            self._note(event, stopping=True)
        self._display.refresh(self.sweep)
        return self.sweep

    def _note(self, event: Event, stopping: bool = False) -> bool:
        """Record an event; tell whether the run has ended."""
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

    def _change(self, run: Run, **changes: object) -> None:
        self.sweep = self.sweep.changed(run.name, **changes)
        self._folder.write(self.sweep)
        self._display.changed(next(changed for changed in self.sweep.runs if changed.name == run.name))


def last_lines(log: Path, count: int = LAST_LINES) -> tuple[str, ...]:
    """Return the last lines of a file that are not empty."""
    if not log.exists():
        return ()
    with log.open(encoding='utf-8', errors='replace') as lines:
        return tuple(deque((line.rstrip() for line in lines if line.strip()), maxlen=count))
