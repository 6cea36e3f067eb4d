# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""An alignment as a file: a picture (.png, .svg, .pdf), or a page that opens offline (.html) and tells each weight."""

import os
import uuid
import warnings
from pathlib import Path

from markupsafe import Markup
from matplotlib.figure import Figure

from saccade.analysis.alignment import Alignment
from saccade.types import UserError

ENDINGS = ('.png', '.svg', '.pdf', '.html')
_INCHES = 0.26  # of a cell
_MARGIN = 1.3  # inches for the labels
_STYLE = """
body { font: 15px sans-serif; margin: 2em; color: #101112; background: #fff }
table { border-collapse: collapse }
td { width: 1.5em; height: 1.5em; border: 1px solid #eee }
th { font-weight: normal; padding: 0 .4em; white-space: pre }
thead th { writing-mode: vertical-rl; transform: rotate(180deg); padding: .4em 0 }
tbody th { text-align: right }
"""


def require_ending(path: Path) -> None:
    """Refuse a name whose ending is none of those there are."""
    if path.suffix.lower() not in ENDINGS:
        raise UserError(f'{path}: an alignment is written to a file that ends in {", ".join(ENDINGS)}')


def save(alignment: Alignment, path: Path) -> None:
    """Write an alignment, whole or not at all; the ending of the name says as what.

    Raises:
        UserError: the ending is none of those there are, or the file cannot be written.
    """
    require_ending(path)
    draft = path.with_name(f'.{uuid.uuid4().hex}{path.suffix}')
    try:
        if path.suffix.lower() == '.html':
            draft.write_text(html(alignment), encoding='utf-8')
        else:
            draw(alignment, draft)
        os.replace(draft, path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise UserError(f'cannot write the alignment to {path}: {error.strerror}') from error


def draw(alignment: Alignment, path: Path) -> None:
    """Write a picture: the darker a cell, the more of that step's weight is on that token."""
    T, S = alignment.weights.shape
    figure = Figure((_INCHES * S + _MARGIN, _INCHES * T + _MARGIN), layout='constrained')
    axes = figure.add_subplot()
    axes.imshow(alignment.weights, cmap='Greys', vmin=0.0, vmax=max(1e-9, float(alignment.weights.max())))
    axes.set_xticks(range(S), alignment.read, parse_math=False)
    axes.set_yticks(range(T), alignment.written, parse_math=False)
    axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
    for label in axes.get_xticklabels():
        label.set_rotation(90 if len(label.get_text()) > 1 else 0)
    axes.set_xlabel(f'read ({alignment.what})', parse_math=False)
    axes.set_ylabel('written')
    with warnings.catch_warnings():
        warnings.filterwarnings('ignore', 'Glyph .* missing from font')
        figure.savefig(path, dpi=150)


def html(alignment: Alignment) -> str:
    """A page that needs nothing beside itself."""
    heads = Markup('').join(Markup('<th>{}</th>').format(token) for token in alignment.read)
    rows = Markup('').join(
        Markup('<tr><th>{}</th>{}</tr>\n').format(token, _cells(token, row, alignment.read))
        for token, row in zip(alignment.written, alignment.weights.tolist(), strict=True)
    )
    return Markup(
        '<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>Alignment</title><style>{}</style>\n'
        '<p>Columns are what was read, rows what was written: {}.</p>\n'
        '<table><thead><tr><th></th>{}</tr></thead>\n<tbody>\n{}</tbody></table></html>\n'
    ).format(Markup(_STYLE), alignment.what, heads, rows)


def _cells(token: str, weights: list[float], read: list[str]) -> Markup:
    cell = Markup('<td title="{} \u2190 {}: {:.3f}" style="background: rgb(16 17 18 / {:.3f})"></td>')
    return Markup('').join(
        cell.format(token, other, weight, weight) for other, weight in zip(read, weights, strict=True)
    )
