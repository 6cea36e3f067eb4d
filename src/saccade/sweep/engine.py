# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Engines, which execute the runs of a sweep: the protocol, its jobs and their events."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable


@dataclass(frozen=True)
class Job:
    """Job of a sweep.

    Attributes:
        name: name of the run.
        command: command that trains or resumes it; with a `program`, the interpreter, a launcher's file and its flags.
        log: file for its output.
        program: digest of the compiled program; jobs with equal digests may share a process. None for a separate
            process.
    """

    name: str
    command: tuple[str, ...]
    log: Path
    program: str | None = None


@dataclass(frozen=True)
class Event:
    """Start or end of a job.

    Attributes: name of the job; exit, None for a start, otherwise the exit status.
    """

    name: str
    exit: int | None = None


@runtime_checkable
class Engine(Protocol):
    """Protocol of an engine, which executes jobs, as many in parallel as it can."""

    def submit(self, job: Job) -> None:
        """Put a job in the queue."""
        ...

    def poll(self) -> Sequence[Event]:
        """Return the events since the last call, without waiting."""
        ...

    def stop(self) -> Sequence[Event]:
        """Start no more jobs, ask running ones to save and end, and return their end events."""
        ...
