# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Plan of a launch: the commands that it would run, to read and copy, or as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from saccade.cloud.command import Command


@dataclass(frozen=True)
class LaunchPlan:
    """Commands of a launch, and the conditions of those that may follow.

    Attributes:
        commands: in order, for a TPU that does not exist yet, without failures.
        missing: flags that a launch still needs; the commands have their names in capitals as placeholders.
        besides: other commands, by their condition.
    """

    commands: Sequence[Command]
    missing: Sequence[str] = ()
    besides: Mapping[str, Command] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """Return a shell script; conditional commands are comments."""
        notes = [f'# a launch needs --{name}; {name.upper()} is a placeholder for it' for name in self.missing]
        steps = [f'# {command.purpose}\n{command.line}' for command in self.commands]
        besides = [f'# {when}:\n#   {command.line}' for when, command in self.besides.items()]
        return [*notes, *steps, *besides]

    def record(self) -> dict[str, Any]:
        """Return the plan as a JSON object."""
        besides = {when: command.record()['command'] for when, command in self.besides.items()}
        return {
            'commands': [command.record() for command in self.commands],
            'missing': list(self.missing),
            'besides': besides,
        }
