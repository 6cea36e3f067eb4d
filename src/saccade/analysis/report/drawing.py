# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""SVG pictures for a page, with text as text elements and the colours of the page's style."""

import functools
import io
import math
import re
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import matplotlib
import numpy as np
from markupsafe import Markup, escape
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import EngFormatter, FixedLocator, MaxNLocator, NullFormatter, NullLocator

from saccade.analysis.report.words import fixed
from saccade.train.process.terminal import printable

# Six hues of Okabe and Ito's palette for the colour-blind (https://jfly.uni-koeln.de/color/), darkened for white pages;
# page.css.jinja has them for dark pages. With four markers, twelve variants differ in colour, marker or both.
COLOURS = ('#0068a8', '#c04f00', '#007a59', '#b0508c', '#2b8cc4', '#a87400')
MARKERS = ('o', 's', '^', 'D')
GLYPHS = ('●', '■', '▲', '◆')
INK, FAINT, PAGE = '#101112', '#606162', '#fefefe'

Paint = Callable[[Axes, 'Canvas'], Any]

_STYLES = {
    **{colour: f'var(--variant-{number})' for number, colour in enumerate(COLOURS)},
    INK: 'var(--ink)',
    FAINT: 'var(--faint)',
    PAGE: 'var(--page)',
}
_SETTINGS = {
    'svg.fonttype': 'none',
    'pdf.fonttype': 42,  # letters that other programs can edit
    'text.usetex': False,
    'svg.hashsalt': 'saccade',
    'font.family': 'sans-serif',
    'font.size': 9.5,
    'text.color': INK,
    'axes.edgecolor': FAINT,
    'axes.labelcolor': FAINT,
    'axes.linewidth': 0.6,
    'axes.spines.top': False,
    'axes.spines.right': False,
    'axes.axisbelow': True,
    'axes.grid': True,
    'grid.color': FAINT,
    'grid.alpha': 0.25,
    'grid.linewidth': 0.5,
    'xtick.color': FAINT,
    'ytick.color': FAINT,
    'lines.linewidth': 1.6,
    'lines.markersize': 4.5,
    'axes.formatter.useoffset': False,
}
_FINE = re.compile(r'(?<=\d)(\.\d\d)\d+')  # digits past hundredths of a point: invisible, and half of a file
_TITLED = re.compile(r'<g id="hover:([^"]*)">')
_TICKS = 5  # maximum ticks per axis
_POINTS = 72  # points per inch
_ROOM = 0.08  # share of the height of an axis
_HOVERED = 25  # points of a line with a text
_LABEL = 0.07  # width of a number next to its point, as a share of the axes' width


@dataclass(frozen=True)
class Canvas:
    """Size of a picture. Attributes: CSS class of the width; width and height in inches."""

    name: str
    width: float
    height: float

    def taller(self, height: float) -> 'Canvas':
        """Return a canvas of the same width and another height, in inches."""
        return Canvas(self.name, self.width, height)


NARROW = Canvas('narrow', 4.2, 3.6)
WIDE = Canvas('wide', 8.6, 4.3)
SMALL = Canvas('small', 4.2, 3.0)


@dataclass(frozen=True)
class ReportPicture:
    """Picture in a page, and as a file of its own.

    Attributes:
        title: title in the page.
        name: name of its file, and the beginning of its ids in the page.
        paint: draws it.
        canvases: one per page width, the widest last.
        note: a caption.
        words: text for readers who do not see it; by default the title.
    """

    title: str
    name: str
    paint: Paint
    canvases: Sequence[Canvas]
    note: str = ''
    words: str = ''

    @functools.cached_property
    def svg(self) -> Markup:
        """One SVG element per page width."""
        return draw(self.name, self.words or self.title, self.paint, self.canvases)

    def files(self) -> dict[str, bytes]:
        """Return the widest picture on white, as the content of a PDF and of an SVG file by the name of the file."""
        with styled():
            figure, pdf, svg = _figure(self.paint, self.canvases[-1]), io.BytesIO(), io.StringIO()
            figure.savefig(pdf, format='pdf', bbox_inches='tight', metadata={'CreationDate': None})
            figure.savefig(svg, format='svg', bbox_inches='tight', metadata={'Date': None})
        content = _TITLED.sub(_title, svg.getvalue())
        return {f'{self.name}.pdf': pdf.getvalue(), f'{self.name}.svg': content.encode()}


def draw(name: str, title: str, paint: Paint, canvases: Sequence[Canvas]) -> Markup:
    """Return what `paint` draws as an SVG element for each canvas, with ids that begin with `name`."""
    return Markup('').join(_drawn(f'{name}-{canvas.name}', title, paint, canvas) for canvas in canvases)


@contextmanager
def styled() -> Iterator[None]:
    """Draw in the style of all pictures, without warnings about missing glyphs."""
    with matplotlib.rc_context(_SETTINGS), warnings.catch_warnings():
        warnings.filterwarnings('ignore', 'Glyph .* missing from font')
        yield


def colour(place: int) -> str:
    """Return the colour of the variant at a place, from 1."""
    return COLOURS[(place - 1) % len(COLOURS)]


def marker(place: int) -> str:
    """Return the marker of the variant at a place, from 1."""
    return MARKERS[(place - 1) % len(MARKERS)]


def write(axes: Axes, x: float, y: float, text: str, **style: Any) -> Text:
    """Write literal text, without math mode, at data coordinates or in another transform."""
    return axes.text(x, y, printable(text), parse_math=False, **style)


def over_lines() -> dict[str, Any]:
    """Return the style of a text that hides the lines behind it."""
    return {'zorder': 5, 'bbox': {'facecolor': PAGE, 'edgecolor': 'none', 'pad': 0.5}}


def hover(text: str, *artists: Artist) -> None:
    """Show a text while the pointer is over some drawn objects."""
    for artist in artists:
        artist.set_gid(f'hover:{printable(text)}')


def named(axes: Axes, across: str, along: str = '') -> None:
    """Label the axes; dollar signs are literal."""
    axes.set_xlabel(printable(across), parse_math=False)
    axes.set_ylabel(printable(along), parse_math=False)


def frame(axes: Axes, canvas: Canvas, labels: str = '') -> None:
    """Set the margins of the axes, with room for the longest label on the right, and units k, M, G along x."""
    left, right, below = 0.62 / canvas.width, (0.25 + 0.095 * len(labels)) / canvas.width, 0.5 / canvas.height
    axes.get_figure().subplots_adjust(left, below, 1 - right, 0.97)
    axes.xaxis.set_major_formatter(EngFormatter(sep=' '))
    axes.xaxis.set_major_locator(MaxNLocator(_TICKS, steps=[1, 2, 5, 10]))


def logarithmic(axes: Axes, values: Sequence[int | float]) -> None:
    """Make x logarithmic if its values are positive and span a factor of ten or more; use units k, M, G."""
    if min(values) > 0 and max(values) >= 10 * min(values):
        axes.set_xscale('log')
        axes.xaxis.set_major_formatter(EngFormatter(sep=' '))
        axes.xaxis.set_minor_formatter(NullFormatter())


def doubling(axes: Axes, ticks: Sequence[float]) -> None:
    """Make x logarithmic to base 2, with ticks at some whole numbers."""
    axes.set_xscale('log', base=2)
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_major_formatter(lambda value, _: f'{value:.0f}')
    axes.xaxis.set_minor_locator(NullLocator())


def label_ends(axes: Axes, canvas: Canvas, ends: Sequence[tuple[float, float, str, str]]) -> None:
    """Label the ends of lines to the right of the axes, moved apart if they would overlap.

    Args:
        ends: x, y, text and colour of each.
    """
    starts = np.clip(_in_axes(axes, [end[:2] for end in ends]), 0, 1)
    heights = spread(starts[:, 1], _line_height(axes, canvas, 12))
    thin = {'lw': 0.5, 'alpha': 0.7, 'clip_on': False, 'transform': axes.transAxes}
    for (x, y), height, (_, _, text, shade) in zip(starts, heights, ends, strict=True):
        axes.plot([x, 1.0, 1.02], [y, height, height], color=shade, **thin)
        write(axes, 1.03, height, text, color=shade, va='center', transform=axes.transAxes)


def numbered(axes: Axes, canvas: Canvas, points: Sequence[tuple[float, float, str, str]]) -> None:
    """Label points on their right, moved up or down if labels would overlap.

    Args:
        points: x, y, text and colour of each.
    """
    gap = _line_height(axes, canvas, 10)
    starts = _in_axes(axes, [point[:2] for point in points])
    for column in _columns(sorted((*start, *point[2:]) for start, point in zip(starts, points, strict=True))):
        heights = spread([y + gap / 3 for _, y, _, _ in column], gap)
        for (x, _, text, shade), height in zip(column, heights, strict=True):
            write(axes, x + 0.022, height, text, color=shade, va='center', fontsize=8.5, transform=axes.transAxes)


def spread(heights: Collection[float], gap: float) -> list[float]:
    """Move heights between 0 and 1 minimally so that neighbours are at least a gap apart, in the same order."""
    order = np.argsort(list(heights), kind='stable')
    stairs = gap * np.arange(len(heights))
    blocks: list[list[float]] = []  # merged heights, centred on their original mean
    for height in np.array(list(heights))[order] - stairs:
        blocks.append([height])
        while len(blocks) > 1 and np.mean(blocks[-2]) > np.mean(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    placed = np.repeat([np.mean(block) for block in blocks], [len(block) for block in blocks])
    placed = np.clip(placed, 0, max(1 - gap * (len(heights) - 1), 0)) + stairs
    return [float(height) for height in placed[np.argsort(order)]]


def points_on_hover(axes: Axes, points: Sequence[tuple[float, float]], digits: int) -> None:
    """Show the y of each point while the pointer is over it; of long lines, of evenly spaced points."""
    for x, y in points[:: math.ceil(len(points) / _HOVERED) or 1]:
        hover(fixed(y, digits), *axes.plot([x], [y], 'o', ms=9, alpha=0, zorder=6))


def limits(values: Sequence[float], kept: float) -> tuple[float, float]:
    """Return limits of an axis that contain all values except outliers by Tukey's rule; `kept` is always contained.

    Outliers are more than three interquartile ranges below the first quartile or above the third.
    """
    first, third = np.quantile(values, (0.25, 0.75))
    far = 3 * (third - first)
    near = [kept, *(value for value in values if first - far <= value <= third + far)]
    margin = 0.05 * ((max(near) - min(near)) or abs(kept) or 1.0)
    return float(min(near) - margin), float(max(near) + margin)


def reaching(ends: tuple[float, float], value: float | None) -> tuple[float, float]:
    """Extend the limits of an axis to a value, unless that makes them more than twice as wide."""
    if value is None:
        return ends
    margin = 0.05 * (ends[1] - ends[0])
    wider = min(ends[0], value - margin), max(ends[1], value + margin)
    return wider if wider[1] - wider[0] <= 2 * (ends[1] - ends[0]) else ends


def level(axes: Axes, value: float | None, ends: tuple[float, float], name: str = 'simple baseline') -> None:
    """Draw a labelled horizontal line at a value of y; outside the limits, an arrow with the value."""
    if value is None:
        return
    beyond, inside = value > ends[1], ends[0] <= value <= ends[1]
    style = dict(textcoords='offset points', ha='right', color=FAINT, fontsize=8.5, annotation_clip=False)
    if inside:
        hover(f'{name} {value:.4g}', axes.axhline(value, color=FAINT, lw=1.0, ls=(0, (6, 3)), zorder=1))
        place = axes.get_yaxis_transform()
        axes.annotate(name, (1, value), xytext=(-2, 3), xycoords=place, **style, **over_lines())
    else:
        room = _ROOM * (ends[1] - ends[0])  # where the text hides no data
        axes.set_ylim(ends[0] - room * (not beyond), ends[1] + room * beyond)
        arrow, offset, side = ('↑', -2, 'top') if beyond else ('↓', 2, 'bottom')
        place = dict(xytext=(-2, offset), xycoords='axes fraction', va=side)
        axes.annotate(f'{name} {value:.4g} {arrow}', (1, float(beyond)), **place, **style, **over_lines())


def _in_axes(axes: Axes, points: Sequence[tuple[float, float]]) -> np.ndarray:
    """Convert data coordinates to fractions of the axes."""
    axes.autoscale_view()  # the transform needs the limits
    return axes.transAxes.inverted().transform(axes.transData.transform(points))


def _line_height(axes: Axes, canvas: Canvas, points: int) -> float:
    return points / (axes.get_position().height * canvas.height * _POINTS)


def _columns(points: Sequence[tuple[float, float, str, str]]) -> list[list[tuple[float, float, str, str]]]:
    """Split points, sorted by x, into columns whose labels do not overlap."""
    columns: list[list[tuple[float, float, str, str]]] = []
    for point in points:
        if columns and point[0] - columns[-1][-1][0] < _LABEL:
            columns[-1].append(point)
        else:
            columns.append([point])
    return columns


def _drawn(name: str, title: str, paint: Paint, canvas: Canvas) -> Markup:
    """Return an SVG element with the page's ids and colours; its text uses the reader's fonts."""
    with styled():
        figure = _figure(paint, canvas)
        file = io.StringIO()
        figure.savefig(file, format='svg', transparent=True, metadata={'Date': None, 'Creator': None})
    svg = _TITLED.sub(_title, file.getvalue())
    body = re.sub(r'<metadata>.*?</metadata>', '', svg[svg.index('<svg') :], flags=re.DOTALL)
    view = re.search(r'viewBox="[^"]*"', body)[0]
    opening = f'<svg class="{canvas.name}" {view} role="img" aria-label="{escape(printable(title))}">'
    return Markup(re.sub(r'<[^>]*>', lambda tag: _tag(tag[0], name, opening), body))


def _figure(paint: Paint, canvas: Canvas) -> Figure:
    figure = Figure((canvas.width, canvas.height))
    paint(figure.add_subplot(), canvas)
    return figure


def _title(found: re.Match[str]) -> str:
    return f'<g><title>{found[1]}</title>'


def _tag(tag: str, name: str, opening: str) -> str:
    if tag.startswith('<svg'):
        return opening
    tag = _FINE.sub(r'\1', tag)
    tag = re.sub(r'\b(id="|url\(#|href="#)', rf'\g<1>{name}-', tag)
    return re.sub(r'#[0-9a-f]{6}\b', lambda found: _STYLES.get(found[0], found[0]), tag)
