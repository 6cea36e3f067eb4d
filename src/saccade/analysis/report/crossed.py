# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Picture of two crossed factors: a panel for each task, a row for each level of the first factor, and in it a mark
with its 95% interval for each level of the second.
"""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from saccade.analysis.report.compare import Comparison
from saccade.analysis.report.drawing import (
    FAINT,
    INK,
    NARROW,
    PAGE,
    WIDE,
    Canvas,
    ReportPicture,
    colour,
    hover,
    marker,
    named,
    write,
)
from saccade.analysis.report.effects import levels_of
from saccade.analysis.report.matrix import Matrix
from saccade.analysis.report.words import fixed, metric_name
from saccade.train.process.terminal import printable

Levels = Sequence[str]

_ROW, _LETTER = 0.3, 0.076  # inches per row, and per letter of a name
_ABOVE, _BELOW, _BETWEEN = 0.5, 0.5, 0.28  # inches
_ROOM = 0.04  # on either side of the values that a metric can have, as a share of their range
_APART = 0.36  # rows between the marks of neighbouring levels
_CHANCE = dict(color=FAINT, lw=1.0, ls=(0, (3, 2)), zorder=1)


def crossed(found: Matrix) -> ReportPicture | None:
    """Draw every task by the two factors that all sweeps cross; None for another number of factors."""
    if len(found.levels) != 2:
        return None
    planned = (levels_of(trial.variant) for each in found.comparisons.values() for trial in each.study.trials)
    rows, marks = (list(dict.fromkeys(levels)) for levels in zip(*planned, strict=True))
    high = _ABOVE + _BELOW + _ROW * len(rows)
    first, second = found.levels
    chance = any(comparison.baseline is not None for comparison in found.comparisons.values())

    def paint(axes: Axes, canvas: Canvas) -> None:
        axes.set_axis_off()
        across = len(found.comparisons) if canvas is wide else 1
        left = 0.15 + _LETTER * max(map(len, rows))
        width = (canvas.width - left) / across - _BETWEEN
        for number, (task, comparison) in enumerate(found.comparisons.items()):
            line, column = divmod(number, across)
            top = canvas.height - line * high - _ABOVE
            panel = _panel(axes, canvas, left + column * (width + _BETWEEN), top, width, _ROW * len(rows))
            _paint_panel(panel, comparison, rows, marks)
            panel.set_title(printable(task), parse_math=False, fontsize=9.5)
            if column:
                panel.set_yticklabels([])
        _paint_key(_panel(axes, canvas, 0.0, canvas.height, canvas.width, 0.2), second, marks, chance)

    wide = WIDE.taller(high)
    narrow = NARROW.taller(high * len(found.comparisons))
    words = f'{", ".join(found.comparisons)}: score by {first} and {second}'
    return ReportPicture(f'Score by {first} and {second}', 'factors', paint, [narrow, wide], words=words)


def _panel(axes: Axes, canvas: Canvas, left: float, top: float, width: float, height: float) -> Axes:
    """Return new axes in the same figure; sizes and places are in inches."""
    place = left / canvas.width, (top - height) / canvas.height, width / canvas.width, height / canvas.height
    return axes.get_figure().add_axes(place)


def _paint_panel(axes: Axes, comparison: Comparison, rows: Levels, marks: Levels) -> None:
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks(range(len(rows)), [*map(printable, rows)], parse_math=False)
    axes.tick_params(axis='y', length=0, labelcolor=INK)
    axes.spines['left'].set_visible(False)
    low, high = comparison.declared.low, comparison.declared.high
    if None not in (low, high):  # the panels of two accuracies have one scale
        axes.set_xlim(low - _ROOM * (high - low), high + _ROOM * (high - low))
    axes.locator_params(axis='x', nbins=4)
    named(axes, metric_name(comparison.metric))
    if comparison.baseline is not None:
        chance = axes.axvline(comparison.baseline, **_CHANCE)
        hover(f'chance {fixed(comparison.baseline, 3)}', chance)
    standings = {levels_of(row.variant): row for row in comparison.ranked}
    for height, level in enumerate(rows):
        shown = [(place, standings.get((level, mark))) for place, mark in enumerate(marks, start=1)]
        for place, row in shown:
            if row is None:
                continue
            at = height + _APART * (place - (len(marks) + 1) / 2)
            ends = [row.interval.low, row.interval.high] if row.interval else [row.mean, row.mean]
            axes.plot(ends, [at, at], color=colour(place), lw=2.2, alpha=0.5, solid_capstyle='butt')
            hover(f'{row.label}: {fixed(row.mean, 3)}', *_mark(axes, row.mean, at, place))


def _paint_key(key: Axes, factor: str, marks: Levels, chance: bool) -> None:
    """Write the levels of the second factor with their marks in a line."""
    key.set(xlim=(0, key.get_position().width * key.get_figure().get_figwidth()), ylim=(0, 1))  # in inches
    key.set_axis_off()
    write(key, x := 0.1, 0.5, factor, va='center', color=FAINT)
    x += _LETTER * (len(factor) + 3)
    for place, mark in enumerate(marks, start=1):
        _mark(key, x, 0.5, place)
        write(key, x + 0.1, 0.5, mark, va='center')
        x += _LETTER * (len(mark) + 5)
    if chance:
        key.plot([x, x], [0.1, 0.9], **_CHANCE)
        write(key, x + 0.1, 0.5, 'chance', va='center', color=FAINT)


def _mark(axes: Axes, x: float, y: float, place: int) -> list[Line2D]:
    """Draw the mark of a level of the second factor; the first is hollow."""
    inside = PAGE if place == 1 else colour(place)
    return axes.plot([x], [y], marker(place), color=colour(place), mfc=inside, ms=6, zorder=4)
