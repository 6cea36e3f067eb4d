# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Commands as data: the program with its arguments, and the purpose. A CommandRunner executes or records them.

A launch is written once, for any `CommandRunner`. `Gcloud` executes the commands and `DryRun` records them, so a dry
run prints exactly the commands that a launch executes.
"""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

# gcloud prints this line when a command failed on one host of a slice of several.
_FAILED_ON = re.compile(r'Command execution on worker (\d+) failed with exit status (\d+)')
# Exit status of ssh itself, and gcloud's words for it: the connection was lost, or could not be made.
_NO_CONNECTION, _NO_CONNECTION_SAID = 255, 'exited with return code [255]'


@dataclass(frozen=True)
class Command:
    """Command to run.

    Attributes: purpose, in a few words that complete "in order to ..."; the program and its arguments.
    """

    purpose: str
    argv: tuple[str, ...]

    @property
    def line(self) -> str:
        """The command as typed in a shell."""
        return shlex.join(self.argv)

    def record(self) -> dict[str, Any]:
        """Return the command as a JSON object."""
        return {'purpose': self.purpose, 'command': list(self.argv)}


@dataclass(frozen=True)
class CommandResult:
    """Result of a command. Attributes: the command; its exit status; the last lines that it printed."""

    command: Command
    status: int = 0
    output: tuple[str, ...] = ()

    @property
    def connection_lost(self) -> bool:
        """True if a worker could not be reached, so that the status is not the exit status of its program."""
        return self.status == _NO_CONNECTION or any(_NO_CONNECTION_SAID in line for line in self.output)

    @property
    def failures(self) -> list[tuple[int | None, int]]:
        """Failed workers with their exit statuses, the first failure first; the worker is None on a single host."""
        found = [match for line in self.output if (match := _FAILED_ON.search(line))]
        return [(int(match[1]), int(match[2])) for match in found] or [(None, self.status)]


@runtime_checkable
class CommandRunner(Protocol):
    """Protocol of runners that execute or record commands."""

    def do(self, command: Command, seconds: float | None = None) -> CommandResult:
        """Run a command and show its output; end it after `seconds`."""
        ...

    def ask(self, command: Command) -> Any:
        """Run a command that answers in JSON; return the answer, or None where its subject does not exist.

        Raises:
            UserError: the command failed.
        """
        ...


class DryRun:
    """Dry run: record commands and execute none, as if nothing existed at first and every command succeeded."""

    def __init__(self, answers: Mapping[Command, Any]) -> None:
        """Take the answers to queries, used from the second query on."""
        self.commands: list[Command] = []
        self._answers, self._queried = answers, False

    def do(self, command: Command, seconds: float | None = None) -> CommandResult:
        """Record the command, and return a successful result."""
        self.commands.append(command)
        return CommandResult(command)

    def ask(self, command: Command) -> Any:
        """Record the command; return None the first time, and its prepared answer from then on."""
        self.commands.append(command)
        first, self._queried = not self._queried, True
        return None if first else self._answers[command]
