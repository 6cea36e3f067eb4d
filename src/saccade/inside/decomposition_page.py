# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Offline page of a decomposition: its tables, and pictures of the nine terms of a row's scores."""

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from saccade.analysis.report.drawing import FAINT, Canvas, draw
from saccade.analysis.report.figures import Table
from saccade.inside.decomposing import DecomposedHead, Decomposition
from saccade.inside.decomposition import PARTS
from saccade.inside.heat_map import scale, signed
from saccade.inside.page import page_of

_ROW = 0  # row of the batch to draw
_CANVAS = Canvas('small', 8.6, 6.2)
_SCALE = 'score less its mean over the keys'
_STYLE = """
td, th { text-align: right }
tr > :first-child { text-align: left }
.scroll { margin-bottom: 1rem }
figure { max-width: 58rem }
"""


def page(found: Decomposition) -> str:
    """Return a self-contained page."""
    report = found.report()
    parts = [_table(table) for table in report.tables]
    parts += [Markup('<p>{}</p>').format(note) for note in report.notes]
    parts += [_picture(number, head) for number, head in enumerate(found.heads) if head.scale is not None]
    return page_of(found.what, Markup('\n').join(parts), _STYLE)


def _table(table: Table) -> Markup:
    rows = [_row(table.columns, 'th'), *(_row(row, 'td') for row in table.rows)]
    return Markup('<h2>{}</h2>\n<div class="scroll"><table>\n{}\n</table></div>').format(
        table.title, Markup('\n').join(rows)
    )


def _row(cells: tuple[str, ...], tag: str) -> Markup:
    name = Markup(tag)
    return Markup('<tr>{}</tr>').format(
        Markup('').join(Markup('<{}>{}</{}>').format(name, cell, name) for cell in cells)
    )


def _picture(number: int, head: DecomposedHead) -> Markup:
    title = f'{head.name}: terms of the scores of the first row of the validation split'
    svg = draw(f'head-{number}', title, lambda axes, canvas: _paint(axes.get_figure(), head), [_CANVAS])
    note = 'Part of the query x part of the key; "all" is the sum. Orange is positive, blue is negative.'
    return Markup('<h2>{}</h2>\n<figure>{}<figcaption>{}</figcaption></figure>').format(title, svg, note)


def _paint(figure: Figure, head: DecomposedHead) -> None:
    """Draw the terms: decoder parts as rows, encoder parts as columns, and the sum in the last column."""
    found = head.terms
    T, S = (int(side.real[_ROW].sum()) for side in (head.decoder, head.encoder))
    terms, scores = (found.centred(each)[..., _ROW, :T, :S] for each in (found.terms, found.scores))
    most = float(np.abs(scores).max())
    figure.clear()
    figure.set_layout_engine('constrained')
    grid = figure.subplots(len(PARTS), len(PARTS) + 1, sharex=True, sharey=True)
    for i, j in np.ndindex(len(PARTS), len(PARTS)):
        image = signed(grid[i, j], terms[i, j], most)
        grid[i, j].set_title(f'{PARTS[i]} x {PARTS[j]}', fontsize='medium')
    signed(grid[0, -1], scores, most)
    grid[0, -1].set_title('all', fontsize='medium')
    for axes in grid[1:, -1]:
        axes.set_axis_off()
    for axes in grid.flat:
        axes.set_aspect('auto')
        axes.xaxis.set_major_locator(MaxNLocator(3, integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(3, integer=True))
    figure.supxlabel('source position', color=FAINT, fontsize='medium')
    figure.supylabel('target position', color=FAINT, fontsize='medium')
    scale(image, list(grid.flat), _SCALE)
