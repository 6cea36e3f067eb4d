# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Engines, which carry out the runs of a sweep: the protocol, its jobs and their events."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable


@dataclass(frozen=True)
class Job:
    """Job of a sweep.

    Attributes:
        name: of the run.
        command: that trains or resumes it: the interpreter, the file of a launcher, and its flags, if it has a program.
        log: file that takes what it prints.
        program: digest of what is compiled, equal for jobs that may share a process; None for a process of its own.
    """

    name: str
    command: tuple[str, ...]
    log: Path
    program: str | None = None


@dataclass(frozen=True)
class Event:
    """Beginning or end of a job.

    Attributes: a job's name; exit, None where it has begun, else the status it ended with.
    """

    name: str
    exit: int | None = None


@runtime_checkable
class Engine(Protocol):
    """Protocol of an engine, which carries out jobs, as many at a time as it can."""

    def submit(self, job: Job) -> None:
        """Put a job in line."""
        ...

    def poll(self) -> Sequence[Event]:
        """Return what has happened since the last time, without waiting."""
        ...

    def stop(self) -> Sequence[Event]:
        """Start no more jobs, ask those at work to save and end, and return their ends."""
        ...
