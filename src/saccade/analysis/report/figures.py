# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Figures that were measured or counted: in tables for people, and in one JSON object for programs."""

import csv
import importlib.metadata
import io
import json
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import rich.table
from rich.console import Console

from saccade.train.log.provenance import cores, processor
from saccade.train.process.terminal import say, verbatim

LIBRARIES = ('jax', 'flax', 'torch', 'transformers')


@dataclass(frozen=True)
class Table:
    """Table of figures. Attributes: title, names of the columns, and rows of text."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]

    def drawn(self) -> rich.table.Table:
        """As rich draws it: the first column to the left, figures to the right."""
        table = rich.table.Table()
        for number, column in enumerate(self.columns):
            table.add_column(verbatim(column), justify='right' if number else 'left', overflow='fold')
        for row in self.rows:
            table.add_row(*map(verbatim, row))
        return table

    def csv(self) -> str:
        """Return the columns and rows as comma-separated values."""
        file = io.StringIO()
        csv.writer(file, lineterminator='\n').writerows((self.columns, *self.rows))
        return file.getvalue()

    def markdown(self) -> str:
        """Return the title as a heading, and the table in Markdown."""
        bars = ('---', *('---:' for _ in self.columns[1:]))
        lines = (f'| {" | ".join(cells)} |' for cells in (self.columns, bars, *self.rows))
        return '\n'.join((f'## {self.title}', '', *lines, ''))

    def show(self, console: Console) -> None:
        """Print the title and the table."""
        say(console, self.title, style='bold')
        console.print(self.drawn())


@dataclass(frozen=True)
class MeasurementReport:
    """Report of a measurement.

    Attributes: what was measured; its figures, for programs; tables and notes, for people; the machines that records
    of earlier runs come from, if there are any.
    """

    what: str
    figures: dict[str, Any]
    tables: tuple[Table, ...]
    notes: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()

    def json(self) -> str:
        """One JSON object, with the machine and the versions."""
        return json.dumps({'what': self.what, 'machine': machine(), **self.figures})

    def markdown(self) -> str:
        """Return a page in Markdown: the notes, then the tables."""
        return '\n'.join(
            (
                f'# {self.what.capitalize()}',
                '',
                *(f'{note}\n' for note in self._notes()),
                *map(Table.markdown, self.tables),
            )
        )

    def show(self, console: Console) -> None:
        """Print the tables and notes."""
        for table in self.tables:
            table.show(console)
        for note in self._notes():
            say(console, note)

    def _notes(self) -> tuple[str, ...]:
        if self.machines:
            return (*self.notes, *self.machines)
        found = machine()
        versions = ', '.join(f'{name} {version}' for name, version in found['versions'].items())
        return (
            *self.notes,
            f'{found["processor"]}, {found["cores"]} cores, Python {found["python"]}, {versions}',
        )


def machine() -> dict[str, Any]:
    """Return the machine that figures depend on: processor, cores, Python and versions of libraries."""
    installed = {distribution.name.lower() for distribution in importlib.metadata.distributions() if distribution.name}
    return {
        'processor': processor(),
        'cores': cores(),
        'python': platform.python_version(),
        'versions': {name: importlib.metadata.version(name) for name in LIBRARIES if name in installed},
    }


def exponent(lengths: Sequence[int], sizes: Sequence[int | float]) -> float:
    """Return the exponent of a power law: the slope of the line through (log length, log size)."""
    return float(np.polyfit(np.log(lengths), np.log(sizes), 1)[0])
