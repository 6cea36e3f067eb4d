# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Alignment as a file: a picture (.png, .svg, .pdf), or a page that opens offline (.html) and shows each weight."""

import os
import uuid
from pathlib import Path

import numpy as np
from markupsafe import Markup
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from saccade.analysis.report.drawing import INK, styled
from saccade.inside.alignment import Alignment
from saccade.inside.heat_map import LEAST, SHARES, scale, shares
from saccade.inside.page import page_of
from saccade.types import UserError

ENDINGS = ('.png', '.svg', '.pdf', '.html')
_INCHES = 0.26  # inches per cell
_MARGIN = 1.3  # inches for the labels
_BAR = 0.9  # inches for the colour bar
_LEAST = 3.2  # minimum inches of a side, for the labels of the axes
_STOPS = 9  # colours of the scale of a page
_ACROSS, _DOWN, _SCALE = 'source tokens, read', 'target tokens, written', 'attention weight'
_STYLE = """
.cells { font-size: .9375rem }
.cells td { width: 1.5em; min-width: 1.5em; height: 1.5em; padding: 0; border: 1px solid var(--rule) }
.cells th { padding: 0 .4em; border: 0; white-space: pre; vertical-align: middle; color: var(--ink) }
.cells thead tr + tr th { writing-mode: vertical-rl; transform: rotate(180deg); padding: .4em 0 }
.cells tbody th { text-align: right }
.cells th.axis { color: var(--faint); text-align: left; font-weight: 400 }
.scale { display: flex; align-items: center; gap: .5rem; margin-top: 1rem; font-size: .875rem }
.scale > i { width: 12rem; height: .8rem; border: 1px solid var(--rule) }
"""


def require_ending(path: Path) -> None:
    """Raise a UserError if the ending of a file name is not supported."""
    if path.suffix.lower() not in ENDINGS:
        raise UserError(f'{path}: an alignment is written to a file that ends in {", ".join(ENDINGS)}')


def save(alignment: Alignment, path: Path) -> None:
    """Write an alignment atomically, in the format of the file's ending.

    Raises:
        UserError: the ending is not supported, or the file cannot be written.
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
    """Write a picture: darker cells have higher attention weights."""
    T, S = alignment.weights.shape
    with styled():
        size = max(_INCHES * S + _MARGIN, _LEAST) + _BAR, max(_INCHES * T + _MARGIN, _LEAST)
        figure = Figure(size, layout='constrained')
        axes = figure.add_subplot()
        scale(shares(axes, alignment.weights, _most(alignment)), axes, _SCALE)
        axes.set_xticks(range(S), alignment.read, parse_math=False, color=INK)
        axes.set_yticks(range(T), alignment.written, parse_math=False, color=INK)
        axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
        for label in axes.get_xticklabels():
            label.set_rotation(90 if len(label.get_text()) > 1 else 0)
        axes.set_xlabel(_ACROSS)
        axes.set_ylabel(_DOWN)
        axes.set_title(alignment.what, fontsize='medium', parse_math=False)
        figure.savefig(path, dpi=150)


def html(alignment: Alignment) -> str:
    """Return a self-contained page."""
    most = _most(alignment)
    heads = Markup('').join(Markup('<th>{}</th>').format(token) for token in alignment.read)
    rows = Markup('').join(
        Markup('<tr><th>{}</th>{}</tr>\n').format(token, _cells(token, row, alignment.read, most))
        for token, row in zip(alignment.written, alignment.weights.tolist(), strict=True)
    )
    table = Markup(
        '<p>{}.</p>\n<div class="scroll"><table class="cells">'
        '<thead><tr><th class="axis">{} \u2193</th><th class="axis" colspan="{}">{} \u2192</th></tr>\n'
        '<tr><th></th>{}</tr></thead>\n<tbody>\n{}</tbody></table></div>\n'
    ).format(alignment.what, _DOWN, len(alignment.read), _ACROSS, heads, rows)
    colours = ', '.join(_colour(stop) for stop in np.linspace(0, 1, _STOPS))
    legend = Markup(
        '<div class="scale">{} 0<i style="background: linear-gradient(to right, {})"></i>{:.3f}</div>\n'
    ).format(_SCALE, colours, most)
    return page_of('Alignment', table + legend, _STYLE)


def _most(alignment: Alignment) -> float:
    """Return the end of the colour scale: the largest weight, since all weights over a long source may be small."""
    return max(LEAST, float(alignment.weights.max()))


def _cells(token: str, weights: list[float], read: list[str], most: float) -> Markup:
    cell = Markup('<td title="{} \u2190 {}: {:.3f}" style="background: {}"></td>')
    return Markup('').join(
        cell.format(token, other, weight, _colour(weight / most)) for other, weight in zip(read, weights, strict=True)
    )


def _colour(share: float) -> str:
    return to_hex(SHARES(share))
