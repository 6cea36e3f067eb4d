# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Progress of long work: the work reports its count of finished items, and a launcher may draw a bar."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

_T = TypeVar('_T')


@runtime_checkable
class Phase(Protocol):
    """Named phase of a run with a count of finished items, for the progress display."""

    def tell(self, done: int) -> None:
        """Report the number of finished items."""

    def end(self) -> None:
        """Report the end of the phase."""


# Starts a phase from its name, the total (None if unknown) and the unit.
Begin = Callable[[str, int | None, str], Phase]

_begin: ContextVar[Begin | None] = ContextVar('begin', default=None)


@contextmanager
def listening(begin: Begin) -> Iterator[None]:
    """Context in which all counted work is displayed."""
    token = _begin.set(begin)
    try:
        yield
    finally:
        _begin.reset(token)


class InterruptedWorkError(Exception):
    """Counted work was interrupted by a request to stop."""


@contextmanager
def interrupted_by(stopped: Callable[[], bool]) -> Iterator[None]:
    """Context that interrupts counted work, after the current item, once `stopped` returns True.

    Raises:
        InterruptedWorkError: work was interrupted.
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


def counted(
    items: Iterable[_T],
    name: str,
    total: int | None = None,
    unit: str = '',
    done: Callable[[_T], int] | None = None,
) -> Iterator[_T]:
    """Yield items, such as rows of a file or batches of an evaluation, and report the number finished.

    Args:
        done: returns the number of units finished after an item; None if each item is a unit.
    """
    begin = _begin.get()
    if begin is None:
        yield from items
        return
    phase = begin(name, total, unit)
    try:
        for number, item in enumerate(items, start=1):
            yield item
            phase.tell(number if done is None else done(item))
    finally:
        phase.end()
