# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Variants in the README: a line for each kind."""

from pathlib import Path

from saccade.analysis.catalogue.catalogue import KINDS, Catalogue, Kind
from saccade.analysis.catalogue.matrix import counts
from saccade.analysis.report.figures import Table
from saccade.train.workdir import write_atomically
from saccade.types import UserError

START, END = '<!-- made by: python launch/variants.py --write -->', '<!-- end of what is made -->'


def section(catalogue: Catalogue) -> str:
    """Text between the two comments."""
    lines = [(kind.name, _listed(catalogue, kind)) for kind in KINDS]
    return '\n\n'.join([counts(catalogue) + '.', markdown(Table('', ('kind', 'parts'), lines))])


def write(readme: Path, catalogue: Catalogue) -> None:
    """Put the section into the README.

    Raises:
        UserError: there is no such file, or it has no place for the section.
    """
    before, _, after = parted(readme)
    write_atomically(readme, f'{before}{START}\n{section(catalogue)}\n{END}{after}')


def parted(readme: Path) -> tuple[str, str, str]:
    """The README before the section, the section, and what follows."""
    text = readme.read_text() if readme.is_file() else ''
    before, start, rest = text.partition(START)
    written, end, after = rest.partition(END)
    if not start or not end:
        raise UserError(f'{readme}: there is no place for the variants; it needs {START} and {END}')
    return before, written.strip('\n'), after


def markdown(table: Table) -> str:
    """A table as Markdown has it."""
    lines = [table.columns, tuple('---' for _ in table.columns), *table.rows]
    return '\n'.join(f'| {" | ".join(line)} |' for line in lines)


def _listed(catalogue: Catalogue, kind: Kind) -> str:
    """The parts of a kind, each place named once."""
    named = [spec['use'] for spec in catalogue.specs(kind).values()]
    places = {place: [use.removeprefix(place) for use in named if use.startswith(place)] for place in kind.places}
    return '; '.join(
        f'`{place}{rest[0][0]}` ' + ', '.join(f'`{name[1:]}`' for name in rest) for place, rest in places.items()
    )
