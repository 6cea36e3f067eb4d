# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Commands as data: the program with its arguments, and the purpose. A CommandRunner runs them, or only records them.

A launch is written once, for any `CommandRunner`. `Gcloud` runs the commands and a `DryRun` records them, so what a dry
run prints is what a launch runs.
"""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

# What gcloud prints, of a slice of several hosts, when a command has failed on one of them.
_FAILED_ON = re.compile(r'Command execution on worker (\d+) failed with exit status (\d+)')
# The status of ssh itself, and how gcloud words it: the connection was lost, or was never there.
_NO_CONNECTION, _NO_CONNECTION_SAID = 255, 'exited with return code [255]'


@dataclass(frozen=True)
class Command:
    """Command to run.

    Attributes: purpose, in a few words that finish "in order to ..."; the program and its arguments.
    """

    purpose: str
    argv: tuple[str, ...]

    @property
    def line(self) -> str:
        """The command as one would type it."""
        return shlex.join(self.argv)

    def record(self) -> dict[str, Any]:
        """The same for programs."""
        return {'purpose': self.purpose, 'command': list(self.argv)}


@dataclass(frozen=True)
class Ended:
    """How a command ended. Attributes: the command; its exit status; the last lines that it printed."""

    command: Command
    status: int = 0
    output: tuple[str, ...] = ()

    @property
    def connection_lost(self) -> bool:
        """Whether a worker could not be reached, so that the status says nothing of what ran there."""
        return self.status == _NO_CONNECTION or any(_NO_CONNECTION_SAID in line for line in self.output)

    @property
    def failures(self) -> list[tuple[int | None, int]]:
        """The workers that failed and their exit statuses, the first one first; of a single host there is no number."""
        found = [match for line in self.output if (match := _FAILED_ON.search(line))]
        return [(int(match[1]), int(match[2])) for match in found] or [(None, self.status)]


@runtime_checkable
class CommandRunner(Protocol):
    """Protocol of what runs commands, or only records them."""

    def do(self, command: Command, seconds: float | None = None) -> Ended:
        """Run a command and show what it prints; end it after so many seconds."""
        ...

    def ask(self, command: Command) -> Any:
        """Run a command that answers in JSON; return the answer, or None where what it asks about is not there.

        Raises:
            UserError: it failed.
        """
        ...


class DryRun:
    """Dry run: record commands and run none, as if nothing were there at first and everything then went well."""

    def __init__(self, answers: Mapping[Command, Any]) -> None:
        """Take what each question is answered by once there is something to be asked about."""
        self.commands: list[Command] = []
        self._answers, self._asked = answers, False

    def do(self, command: Command, seconds: float | None = None) -> Ended:
        """Record the command, and return that it ended well."""
        self.commands.append(command)
        return Ended(command)

    def ask(self, command: Command) -> Any:
        """Record the command; return None the first time, and its prepared answer from then on."""
        self.commands.append(command)
        first, self._asked = not self._asked, True
        return None if first else self._answers[command]
