# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Progress of long work: the work counts what it has done, and a launcher may listen and draw a bar."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

_T = TypeVar('_T')


@runtime_checkable
class Phase(Protocol):
    """A named phase of a run, with a count of what it has done, for the progress display."""

    def tell(self, done: int) -> None:
        """Say how much is done."""

    def end(self) -> None:
        """Say that it is over."""


# Begins to show work: by its name, how much there is (None where that is not known), and the unit.
Begin = Callable[[str, int | None, str], Phase]

_begin: ContextVar[Begin | None] = ContextVar('begin', default=None)


@contextmanager
def listening(begin: Begin) -> Iterator[None]:
    """Have all work that is counted within shown."""
    token = _begin.set(begin)
    try:
        yield
    finally:
        _begin.reset(token)


class InterruptedWorkError(Exception):
    """Counted work was left because something asked to stop."""


@contextmanager
def interrupted_by(stopped: Callable[[], bool]) -> Iterator[None]:
    """Leave counted work within, after the item in hand, when `stopped` says so.

    Raises:
        InterruptedWorkError: work was left.
    """
    begin = _begin.get()

    def begin_interruptible(name: str, total: int | None, unit: str) -> Phase:
        return _Interruptible(begin(name, total, unit) if begin else None, stopped)

    with listening(begin_interruptible):
        yield


@dataclass(frozen=True)
class _Interruptible:
    phase: Phase | None
    stopped: Callable[[], bool]

    def tell(self, done: int) -> None:
        if self.phase:
            self.phase.tell(done)
        if self.stopped():
            raise InterruptedWorkError

    def end(self) -> None:
        if self.phase:
            self.phase.end()


def counted(items: Iterable[_T], name: str, total: int | None = None, unit: str = '') -> Iterator[_T]:
    """Go through items, as rows of a file or batches of an evaluation, and tell how many are done."""
    begin = _begin.get()
    if begin is None:
        yield from items
        return
    phase = begin(name, total, unit)
    try:
        for number, item in enumerate(items, start=1):
            yield item
            phase.tell(number)
    finally:
        phase.end()
