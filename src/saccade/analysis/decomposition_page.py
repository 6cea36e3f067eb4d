# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A decomposition as a page that opens offline: its tables, and the nine terms of a row's scores as pictures."""

import base64
import io

import numpy as np
from markupsafe import Markup
from matplotlib.figure import Figure

from saccade.analysis.benchmark.report import Table
from saccade.analysis.decomposing import DecomposedHead, Decomposition
from saccade.analysis.decomposition import PARTS

_ROW = 0  # of the batch, that is drawn
_INCHES = 1.9  # of a picture
_STYLE = """
body { font: 15px sans-serif; margin: 2em; color: #101112; background: #fff }
table { border-collapse: collapse; margin: .5em 0 1.5em }
td, th { border-bottom: 1px solid #ddd; padding: .2em .7em; text-align: right; font-weight: normal }
tr > :first-child { text-align: left }
"""


def page(found: Decomposition) -> str:
    """A page that needs nothing beside itself."""
    report = found.report()
    parts = [Markup('<h1>{}</h1>').format(found.what)]
    parts += [_table(table) for table in report.tables]
    parts += [Markup('<p>{}</p>').format(note) for note in report.notes]
    parts += [_picture(head) for head in found.heads if head.scale is not None]
    return Markup(
        '<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{}</title><style>{}</style>\n{}</html>\n'
    ).format(found.what, Markup(_STYLE), Markup('\n').join(parts))


def _table(table: Table) -> Markup:
    rows = [_row(table.columns, 'th'), *(_row(row, 'td') for row in table.rows)]
    return Markup('<h2>{}</h2>\n<table>\n{}\n</table>').format(table.title, Markup('\n').join(rows))


def _row(cells: tuple[str, ...], tag: str) -> Markup:
    name = Markup(tag)
    return Markup('<tr>{}</tr>').format(
        Markup('').join(Markup('<{}>{}</{}>').format(name, cell, name) for cell in cells)
    )


def _picture(head: DecomposedHead) -> Markup:
    stream = io.BytesIO()
    _drawn(head).savefig(stream, format='png', dpi=80)
    data = base64.b64encode(stream.getvalue()).decode()
    said = f'{head.name}: the first row of the validation split; across are the tokens read, down those written'
    return Markup('<h2>{}</h2>\n<img alt="{}" src="data:image/png;base64,{}">').format(said, said, data)


def _drawn(head: DecomposedHead) -> Figure:
    """The terms in rows by the decoder's part and in columns by the encoder's; red is for a key, blue against it."""
    found = head.terms
    T, S = (int(side.real[_ROW].sum()) for side in (head.decoder, head.encoder))
    terms, scores = (found.centred(each)[..., _ROW, :T, :S] for each in (found.terms, found.scores))
    figure = Figure((4 * _INCHES, 3 * _INCHES), layout='constrained')
    grid = figure.subplots(3, 4)
    most = max(float(np.abs(scores).max()), 1e-9)
    shown = {(i, j): (terms[i, j], f'{PARTS[i]} x {PARTS[j]}') for i in range(3) for j in range(3)}
    shown[0, 3] = scores, 'all'
    for place, axes in np.ndenumerate(grid):
        axes.set_axis_off()
        if place in shown:
            values, title = shown[place]
            axes.imshow(values, cmap='RdBu_r', vmin=-most, vmax=most)
            axes.set_title(title, fontsize=8)
    return figure
