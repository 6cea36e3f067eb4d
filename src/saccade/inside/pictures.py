# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of attention maps (.png, .svg, .pdf): one head with its tokens, many heads, or heads over an image."""

import io
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from saccade.analysis.report.drawing import FAINT, INK, styled
from saccade.inside.heat_map import SHARES, scale, shares, signed
from saccade.inside.maps import MEAN, AttentionMap, Explored, named

DPI = 150
_CELL = 0.26  # inches per weight of one head
_MARGIN = 1.3  # inches for the labels
_BAR = 0.9  # inches for the colour bar
_LEAST = 3.2  # minimum inches of a side, for the labels of the axes
_MOST = 14.0  # maximum inches of a side
_SMALL = 1.1  # inches of one of many maps
_LABELS = 64  # labels of a side, at most; of more tokens, each so many-th
_TITLE = 90  # characters of the text in a title
_SCALE = 'attention weight'
_TITLE_SIZE, _PANEL_SIZE = 9, 8  # points

Panel = tuple[AttentionMap, int]  # map, and number of a head


def picture(explored: Explored, maps: Sequence[AttentionMap], head: int | None, format: str) -> bytes:
    """Return the heads of maps as a picture: over the image, if there is one, else queries by keys.

    Args:
        head: number of one head of each map, or MEAN; None for all.
        format: 'png', 'svg' or 'pdf'.
    """
    rows = [[(each, number) for number in (range(len(each.weights)) if head is None else [head])] for each in maps]
    of_patches = [row for row in rows if row[0][0].grid]
    with styled():
        if explored.pixels is not None and of_patches:
            figure = _over_image(explored.pixels, of_patches[-1])
        elif len(rows) == len(rows[0]) == 1:
            figure = _large(*rows[0][0])
        else:
            figure = _small(rows)
        text = explored.text if len(explored.text) <= _TITLE else f'{explored.text[: _TITLE - 1]}…'
        title = f'{" ".join(text.split())}\n{explored.source}'
        figure.suptitle(title, fontsize=_TITLE_SIZE, color=FAINT, parse_math=False)
        file = io.BytesIO()
        figure.savefig(file, format=format, dpi=DPI)
    return file.getvalue()


def shown(token: str) -> str:
    """Return a token as a label: white space is visible."""
    return token.replace(' ', '\N{OPEN BOX}').replace('\n', '\N{DOWNWARDS ARROW WITH CORNER LEFTWARDS}')


def _large(one: AttentionMap, head: int) -> Figure:
    """Draw one head with the labels of its tokens."""
    weights, most = one.head(head), _most([(one, head)])
    sides = [min(max(_CELL * length + _MARGIN, _LEAST), _MOST) for length in weights.shape]
    figure = Figure((sides[1] + _BAR, sides[0]), layout='constrained')
    axes = figure.add_subplot()
    scale((signed if one.is_signed else shares)(axes, weights, most), axes, _SCALE)
    for axis, tokens in ((axes.xaxis, one.keys), (axes.yaxis, one.queries)):
        every = -(-len(tokens) // _LABELS)
        labels = [shown(token) if every == 1 else f'{shown(token)} {i}' for i, token in enumerate(tokens)]
        axis.set_ticks(range(0, len(tokens), every), labels[::every], parse_math=False, color=INK)
    axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
    for label in axes.get_xticklabels():
        label.set_rotation(90 if len(label.get_text()) > 1 else 0)
    axes.set_xlabel('key tokens, attended to' if not one.is_cross else 'source tokens, read')
    axes.set_ylabel('query tokens' if not one.is_cross else 'target tokens, written')
    note = f'\n{one.note}' if one.note else ''
    axes.set_title(f'{named(one, head)}{note}', fontsize='medium', parse_math=False)
    return figure


def _small(rows: Sequence[Sequence[Panel]]) -> Figure:
    """Draw many heads on one colour scale, a row for each map."""
    columns = max(map(len, rows))
    figure = Figure((_SMALL * columns + _MARGIN + _BAR, _SMALL * len(rows) + _BAR), layout='constrained')
    panels = figure.subplots(len(rows), columns, squeeze=False)
    most = max(map(_most, rows))
    draw = signed if any(one.is_signed for row in rows for one, _ in row) else shares
    for axes in panels.flat:
        axes.set_axis_off()
    for number, row in enumerate(rows):
        above = max(map(len, rows[:number]), default=0)  # columns that have a title
        for column, (axes, (one, head)) in enumerate(zip(panels[number], row, strict=False)):
            axes.set_axis_on()
            image = draw(axes, one.head(head), most)
            axes.set_aspect('auto')
            _bare(axes, '' if column < above else _titled(head))
        label = panels[number, 0].set_ylabel(row[0][0].name, fontsize=_PANEL_SIZE, rotation=0, ha='right', va='center')
        label.set_parse_math(False)
    scale(image, list(panels.flat), _SCALE)
    return figure


def _over_image(pixels: Float[np.ndarray, 'H W C'], row: Sequence[Panel]) -> Figure:
    """Draw an image, and the weights of a layer's heads on its patches."""
    grey = pixels.shape[-1] == 1
    figure = Figure((1.4 * _SMALL * (1 + len(row)), 1.4 * _SMALL + _BAR), layout='constrained')
    panels = figure.subplots(1, 1 + len(row))
    panels[0].imshow(pixels[..., 0] if grey else pixels, cmap='gray', vmin=0, vmax=1, interpolation='none')
    _bare(panels[0], row[0][0].name)
    for axes, (one, head) in zip(panels[1:], row, strict=True):
        cells = one.over_patches(head)
        signed(axes, cells, np.abs(cells).max()) if one.is_signed else axes.imshow(cells, cmap=SHARES)
        _bare(axes, _titled(head))
    return figure


def _titled(head: int) -> str:
    return 'mean of its heads' if head == MEAN else f'head {head}'


def _most(row: Sequence[Panel]) -> float:
    """Return the end of the colour scale: the largest weight, since all weights over a long text may be small."""
    return max(float(np.abs(one.head(head)).max()) for one, head in row)


def _bare(axes: Axes, title: str) -> None:
    axes.set_xticks([])
    axes.set_yticks([])
    axes.grid(False)
    axes.set_title(title, fontsize=_PANEL_SIZE, parse_math=False)
