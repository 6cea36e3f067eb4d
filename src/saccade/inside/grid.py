# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Grids of figures, one per layer and head or token, and their files: a page, a picture, a table."""

import csv
import io
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float
from markupsafe import Markup
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from saccade.analysis.report.drawing import INK, styled
from saccade.analysis.report.figures import Table
from saccade.inside.heat_map import LEAST, SHARES, SIGNED, scale, shares, signed
from saccade.inside.page import page_of
from saccade.train.workdir import write_atomically
from saccade.types import UserError

ENDINGS = ('.html', '.png', '.svg', '.pdf', '.csv')
_CELL, _MARGIN, _LEAST = 0.62, 1.6, 4.0  # inches
_CHARACTERS = 12  # per inch, of a title
_STYLE = """
.cells { font-size: .875rem; border-collapse: collapse }
.cells td { min-width: 3.2em; padding: .25em .4em; text-align: right; border: 1px solid var(--rule) }
.cells th { padding: .25em .4em; font-weight: 500; white-space: pre; color: var(--ink) }
.cells tbody th { text-align: right }
"""


@dataclass(frozen=True, eq=False)
class Grid:
    """Grid of figures.

    Attributes:
        title: what was measured.
        what: meaning of a cell, with its unit.
        rows, columns: labels; rows_are and columns_are, what they are.
        values: not a number where there is no cell.
        texts: text of each cell instead of its figure; empty for figures.
    """

    title: str
    what: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: Float[np.ndarray, 'R C']
    rows_are: str = 'layer'
    columns_are: str = 'head'
    texts: Sequence[Sequence[str]] = ()

    def text(self, row: int, column: int) -> str:
        """Return the text of a cell."""
        if self.texts:
            return self.texts[row][column]
        value = self.values[row, column]
        return '' if np.isnan(value) else f'{value:z.3f}'

    def table(self) -> Table:
        """Return the grid as a table for people."""
        rows = [
            (label, *(self.text(row, column) for column in range(len(self.columns))))
            for row, label in enumerate(self.rows)
        ]
        return Table(f'{self.title}: {self.what}', (self.rows_are, *self.columns), rows)

    def record(self) -> dict[str, Any]:
        """Return the grid as one JSON object; None where there is no cell."""
        values = [[None if np.isnan(value) else float(value) for value in row] for row in self.values]
        return {'title': self.title, 'what': self.what, 'rows': self.rows, 'columns': self.columns, 'values': values}

    def colour(self, value: float) -> str:
        """Return the colour of a cell, as #rrggbb."""
        share = value / self.most
        return to_hex(SIGNED((1 + share) / 2) if self.is_signed else SHARES(share))

    @property
    def most(self) -> float:
        """The largest magnitude, the end of the scale of colours."""
        return max(LEAST, float(np.nanmax(np.abs(self.values), initial=0.0)))

    @property
    def is_signed(self) -> bool:
        """True if a figure is negative."""
        return bool(np.nanmin(self.values, initial=0.0) < 0)


def require_ending(path: Path) -> None:
    """Raise a UserError if the ending of a file name is not supported."""
    if path.suffix.lower() not in ENDINGS:
        raise UserError(f'{path}: a grid is written to a file that ends in {", ".join(ENDINGS)}')


def save(grids: Sequence[Grid], path: Path, title: str) -> None:
    """Write grids atomically, in the format of the file's ending.

    Raises:
        UserError: the ending is not supported, or the file cannot be written.
    """
    require_ending(path)
    ending = path.suffix.lower()
    if ending == '.html':
        content = page_of(title, Markup('\n').join(map(_section, grids)), _STYLE).encode()
    elif ending == '.csv':
        content = _csv(grids)
    else:
        content = _picture(grids, title, ending[1:])
    write_atomically(path, content)


def _section(grid: Grid) -> Markup:
    head = Markup('').join(Markup('<th scope="col">{}</th>').format(label) for label in grid.columns)
    rows = Markup('').join(
        Markup('<tr><th scope="row">{}</th>{}</tr>\n').format(label, _cells(grid, row))
        for row, label in enumerate(grid.rows)
    )
    return Markup(
        '<h2>{}</h2>\n<p>{}. Rows: {}; columns: {}.</p>\n<div class="scroll" tabindex="0" role="region" '
        'aria-label="{}"><table class="cells"><thead><tr><th>{}</th>{}</tr></thead>\n<tbody>\n{}</tbody></table></div>'
    ).format(grid.title, grid.what, grid.rows_are, grid.columns_are, grid.title, grid.rows_are, head, rows)


def _cells(grid: Grid, row: int) -> Markup:
    made = Markup('')
    for column, value in enumerate(grid.values[row]):
        if np.isnan(value):
            made += Markup('<td></td>')
            continue
        colour = grid.colour(value)
        hover = f'{grid.rows[row]}, {grid.columns[column]}: {value:.4g}'
        made += Markup('<td style="background: {}; color: {}" title="{}">{}</td>').format(
            colour, _ink(colour), hover, grid.text(row, column)
        )
    return made


def _ink(background: str) -> str:
    """Return black or white, whichever has more contrast: WCAG 2.1, relative luminance."""
    channels = np.array(to_rgb(background))
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return '#000000' if linear @ np.array([0.2126, 0.7152, 0.0722]) > 0.179 else '#ffffff'


def _csv(grids: Sequence[Grid]) -> bytes:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator='\n')
    writer.writerow(('grid', 'row', 'column', 'value', 'text'))
    for grid in grids:
        for row, label in enumerate(grid.rows):
            for column, other in enumerate(grid.columns):
                if not np.isnan(grid.values[row, column]):
                    writer.writerow((grid.title, label, other, grid.values[row, column], grid.text(row, column)))
    return file.getvalue().encode()


def _picture(grids: Sequence[Grid], title: str, format: str) -> bytes:
    width = max(_LEAST, _MARGIN + _CELL * max(len(grid.columns) for grid in grids))
    heights = [_MARGIN + _CELL * len(grid.rows) for grid in grids]
    with styled():
        figure = Figure((width, sum(heights)), layout='constrained')
        figure.suptitle(title, fontsize='medium', parse_math=False)
        panels = figure.subplots(len(grids), 1, squeeze=False, height_ratios=heights)[:, 0]
        for axes, grid in zip(panels, grids, strict=True):
            draw = signed if grid.is_signed else shares
            scale(draw(axes, grid.values, grid.most), axes, '')
            axes.set_xticks(range(len(grid.columns)), grid.columns, parse_math=False, color=INK)
            axes.set_yticks(range(len(grid.rows)), grid.rows, parse_math=False, color=INK)
            axes.set_xlabel(grid.columns_are)
            axes.set_ylabel(grid.rows_are)
            what = textwrap.wrap(grid.what, int(_CHARACTERS * (1 + _CELL * len(grid.columns))))
            axes.set_title('\n'.join([grid.title, *what]), fontsize='medium', parse_math=False)
            for row, column in np.ndindex(grid.values.shape):
                if not np.isnan(value := grid.values[row, column]):
                    text, colour = grid.text(row, column), _ink(grid.colour(value))
                    axes.text(column, row, text, ha='center', va='center', fontsize=7, color=colour, parse_math=False)
        file = io.BytesIO()
        figure.savefig(file, format=format, dpi=160)
    return file.getvalue()
