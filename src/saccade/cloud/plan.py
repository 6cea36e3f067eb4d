# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Plan of a launch: the commands it would run, for people to read and copy, and for programs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from saccade.cloud.command import Command


@dataclass(frozen=True)
class Plan:
    """Plan: commands, and when they are run.

    Attributes:
        commands: in order, if nothing stands and all goes well.
        missing: flags that a launch needs besides; their names stand for them in capitals.
        besides: what else may be run, by when.
    """

    commands: Sequence[Command]
    missing: Sequence[str] = ()
    besides: Mapping[str, Command] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """A shell script, in which what is not always run is a comment."""
        notes = [f'# a launch needs --{name}, for which {name.upper()} stands here' for name in self.missing]
        steps = [f'# {command.purpose}\n{command.line}' for command in self.commands]
        besides = [f'# {when}:\n#   {command.line}' for when, command in self.besides.items()]
        return [*notes, *steps, *besides]

    def record(self) -> dict[str, Any]:
        """The same for programs."""
        besides = {when: command.record()['command'] for when, command in self.besides.items()}
        return {
            'commands': [command.record() for command in self.commands],
            'missing': list(self.missing),
            'besides': besides,
        }
