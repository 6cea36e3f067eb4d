# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Fields of parts and of configs for the terminal: type, default or value, and description from the docstring."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from saccade.analysis.reference import meanings, type_words, value_words
from saccade.build import defaults, fields, load_target
from saccade.train.config import PREFIX
from saccade.train.experiment import Experiment
from saccade.train.process.terminal import say


@dataclass(frozen=True)
class Described:
    """Fields of a part. Attributes: title; rows of name, value, type and description."""

    title: str
    rows: Sequence[tuple[str, str, str, str]]

    def show(self, console: Console) -> None:
        """Print each field on a line, and its description below."""
        say(console, self.title, style='bold')
        for name, value, kind, meaning in self.rows:
            say(console, f'  {name} = {value}    ({kind})')
            say(
                console,
                textwrap.fill(meaning, max(console.width, 40), initial_indent=8 * ' ', subsequent_indent=8 * ' '),
            )
        console.print()


def of_part(use: str) -> Described:
    """Return the fields of the part at an import path.

    Raises:
        UserError: the part does not exist.
    """
    part = load_target(use, '--part')
    usual, said = defaults(part), meanings(part)
    rows = [
        (name, 'required' if required else value_words(usual.get(name)), type_words(hint), said.get(name, ''))
        for name, (hint, required) in fields(part).items()
    ]
    return Described(use, rows)


def of_config(config: Mapping[str, Any]) -> Iterator[Described]:
    """Yield the fields of an experiment, then the fields of each part in its config."""
    yield _table('the experiment', Experiment, config, PREFIX)
    yield from _of_parts(config, PREFIX)


def _of_parts(value: Any, path: str) -> Iterator[Described]:
    """Yield the fields of each part below a path of the config."""
    items = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in items:
        below = f'{path}{name}.'
        if isinstance(inner, Mapping) and 'use' in inner:
            yield _table(inner['use'], load_target(inner['use'], below), inner, below)
        yield from _of_parts(inner, below)


def _table(title: str, part: Any, given: Mapping[str, Any], path: str) -> Described:
    usual, said = defaults(part), meanings(part)
    rows = [
        (f'{path}{name}', _short(given.get(name, usual.get(name))), type_words(hint), said.get(name, ''))
        for name, (hint, _) in fields(part).items()
    ]
    return Described(title, rows)


def _short(value: Any) -> str:
    """Return a value as in the config; a part only by its name, since its fields follow."""
    return value['use'] if isinstance(value, Mapping) and 'use' in value else value_words(value)
