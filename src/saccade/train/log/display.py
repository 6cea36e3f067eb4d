# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Progress display of a run: its current phase, the progress in it, and the remaining time.

On a terminal each phase is a moving line, and the line of training stays below printed text. In a file or a pipe, a
phase that lasts is a printed line, after 1 second, and again after 5, 10, 20, ... with its progress.
"""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import Progress, ProgressColumn, Task
from rich.text import Text

from saccade.train.process.terminal import say

# Seconds until a phase is first printed without a terminal, and until the second line; then twice that, and so on.
_BEATS = (1.0, 5.0)
_PERIOD = 3600.0  # seconds of steps for the estimate of the speed; logs may be minutes apart
_LEAST_BAR = 4  # columns
_MOST_BAR = 40


class Display:
    """Progress display of the phases of a run, on a terminal or in a file."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._shown = _Bars(console) if console.is_terminal else _Lines(console)

    @property
    def moves(self) -> bool:
        """True if lines move, so that the progress of a phase need not be printed."""
        return self._console.is_terminal

    def begin(self, name: str, total: int | None = None, unit: str = '', done: int = 0) -> 'DisplayedPhase':
        """Show a phase until its end.

        Args:
            name: of the activity, as 'preparing data'.
            total: number of units in all; None if unknown.
            unit: what is counted, as 'rows'.
            done: number of units that are already done.
        """
        return self._shown.begin(name, total, unit, done)

    @contextmanager
    def phase(self, name: str) -> Iterator['DisplayedPhase']:
        """Show a phase while it lasts."""
        phase = self.begin(name)
        try:
            yield phase
        finally:
            phase.end()

    def say(self, text: str) -> None:
        """Print text unchanged, above the moving lines."""
        say(self._console, text)


class DisplayedPhase:
    """Phase in the display: `tell` gives the number of units done, `words` a description."""

    def tell(self, done: int) -> None:
        """Show the number of units done."""
        ...

    def words(self, candidates: Sequence[str]) -> None:
        """Show the first of these texts that fits the line."""

    def end(self) -> None:
        """Stop showing the phase."""
        ...


class _Bars:
    """Progress bars on a terminal, one for each phase."""

    def __init__(self, console: Console) -> None:
        self._progress = Progress(_Line(console), console=console, refresh_per_second=4, speed_estimate_period=_PERIOD)
        self._phases = 0

    def begin(self, name: str, total: int | None, unit: str, done: int) -> DisplayedPhase:
        if not self._phases:
            self._progress.start()
        self._phases += 1
        return _Bar(
            self, self._progress, self._progress.add_task(name, total=total, completed=done, unit=unit, words=())
        )

    def ended(self, task: Any) -> None:
        self._phases -= 1
        self._progress.refresh()
        if self._phases:
            self._progress.remove_task(task)
            return
        keep = self._progress.tasks[0].total is not None  # a counted phase stays on the screen
        if not keep:
            self._progress.update(task, visible=False)
        self._progress.stop()
        self._progress.remove_task(task)


class _Bar(DisplayedPhase):
    def __init__(self, bars: _Bars, progress: Progress, task: Any) -> None:
        self._bars, self._progress, self._task = bars, progress, task

    def tell(self, done: int) -> None:
        self._progress.update(self._task, completed=done)

    def words(self, candidates: Sequence[str]) -> None:
        self._progress.update(self._task, words=tuple(candidates))

    def end(self) -> None:
        self._bars.ended(self._task)


class _Line(ProgressColumn):
    """Column of the whole line, which fits the width of the screen."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console

    def render(self, task: Task) -> Text:
        return line(
            task.description,
            (int(task.completed), None if task.total is None else int(task.total), task.fields['unit']),
            task.fields['words'],
            (task.elapsed or 0.0, None if task.finished or task.time_remaining is None else float(task.time_remaining)),
            self._console.width,
        )


def line(
    name: str,
    count: tuple[int, int | None, str],
    words: Sequence[str],
    seconds: tuple[float, float | None],
    width: int,
) -> Text:
    """Return a line of progress that is at most `width` columns wide.

    Args:
        count: number of units done, in all (None if unknown), and the unit.
        words: the first of these texts that fits is shown.
        seconds: elapsed, and left if known.
    """
    done, total, unit = count
    elapsed, left = seconds
    counted = f'{done:,} {unit}'.strip() if total is None else f'{done:,}/{total:,}'
    counted = '' if total is None and not done else counted
    times = clock(elapsed) if left is None else f'{clock(elapsed)} left {clock(left)}'
    for chosen in (*words, ''):
        after = '  '.join(each for each in (counted, chosen, times) if each)
        room = width - len(name) - len(after) - 2
        if room >= _LEAST_BAR or not chosen:
            break
    if total is None:
        return Text(f'{name}  {after}'[:width])
    if room < 1:
        return Text(f'{name} {after}'[:width])
    bar = min(room - 1, _MOST_BAR)
    full = bar * min(done, total) // max(total, 1)
    return Text.assemble(
        f'{name} ', ('━' * full, 'bar.complete'), ('━' * (bar - full), 'bar.back'), f'  {after}'[:width]
    )


def clock(seconds: float) -> str:
    """Return a time in the usual notation: 7 s, 1:05, 2:03:04."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f'{hours}:{minutes:02}:{rest:02}'
    return f'{minutes}:{rest:02}' if minutes else f'{rest} s'


class _Lines:
    """Printed lines, for phases that last."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def begin(self, name: str, total: int | None, unit: str, done: int) -> DisplayedPhase:
        return _Printed(self._console, name, (done, total, unit))


class _Printed(DisplayedPhase):
    def __init__(self, console: Console, name: str, count: tuple[int, int | None, str]) -> None:
        self._console, self._name, self._count = console, name, count
        self._over = threading.Event()
        threading.Thread(target=self._beat, daemon=True).start()

    def tell(self, done: int) -> None:
        self._count = (done, *self._count[1:])

    def end(self) -> None:
        self._over.set()

    def _beat(self) -> None:
        before, now = 0.0, _BEATS[0]
        while not self._over.wait(now - before):
            done, total, unit = self._count
            far = [f'{done:,}/{total:,}'] if total else [f'{done:,} {unit}'] if done else []
            since = [clock(now)] if now > _BEATS[0] else []
            self._console.print(Text('  '.join([f'{self._name} ...', *far, *since])), soft_wrap=True)
            before, now = now, max(_BEATS[1], 2 * now)
