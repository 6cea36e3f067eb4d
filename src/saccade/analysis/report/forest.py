# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Forest plot of means with their intervals."""

from matplotlib.axes import Axes

from saccade.analysis.report.compare import Comparison, RankedVariant
from saccade.analysis.report.drawing import (
    FAINT,
    INK,
    NARROW,
    WIDE,
    Canvas,
    ReportPicture,
    colour,
    draw,
    limits,
    marker,
    named,
    reaching,
    write,
)
from saccade.analysis.report.words import metric_name

_ROW = 0.42  # inches per row


def forest(comparison: Comparison) -> ReportPicture | None:
    """Draw means with their intervals, and the value of each seed; None if nothing is ranked."""
    rows = [standing for standing in comparison.pictured if standing.mean is not None]
    if not rows:
        return None
    baseline = comparison.baseline
    ends = reaching(limits([value for row in rows for value in _extent(row)], kept=rows[0].mean), baseline)
    dashed = baseline is not None and ends[0] <= baseline <= ends[1]
    better = 'lower' if comparison.best == 'lowest' else 'higher'
    title = f'{metric_name(comparison.metric).capitalize()} at the end of training'

    def paint(axes: Axes, canvas: Canvas) -> None:
        axes.get_figure().subplots_adjust(0.04, 0.5 / canvas.height, 0.96, 1 - 0.05 / canvas.height)
        axes.set(xlim=ends, ylim=(len(rows) - 0.3, -0.75), yticks=[])
        named(axes, f'{metric_name(comparison.metric)} ({better} is better)')
        axes.spines['left'].set_visible(False)
        axes.axvline(rows[0].mean, color=FAINT, lw=0.8, ls=(0, (2, 3)))
        if dashed:
            axes.axvline(baseline, color=FAINT, lw=1.0, ls=(0, (6, 3)))
        for height, row in enumerate(rows):
            _paint_row(axes, height, row, ends)

    svg = draw('forest', title, paint, [canvas.taller(0.6 + _ROW * len(rows)) for canvas in (NARROW, WIDE)])
    cut = any(not ends[0] <= value <= ends[1] for row in rows for value in _extent(row))
    notes = {'The dashed line is the baseline.': dashed, 'Arrows mark values outside the picture.': cut}
    return ReportPicture(title, svg, ' '.join(note for note, holds in notes.items() if holds))


def _paint_row(axes: Axes, height: int, row: RankedVariant, ends: tuple[float, float]) -> None:
    shade = colour(row.place)
    write(axes, ends[0], height - 0.3, f'{row.place} {row.label}', va='bottom', fontsize=9, clip_on=True)
    if row.interval:
        axes.plot([row.interval.low, row.interval.high], [height, height], color=shade, lw=2.2, solid_capstyle='butt')
    axes.plot(list(row.scores.values()), [height] * len(row.scores), '|', color=INK, ms=8, mew=0.8)
    axes.plot([row.mean], [height], marker(row.place), color=shade, ms=7)
    for end, arrow, beyond in (
        (ends[0], '<', min(_extent(row)) < ends[0]),
        (ends[1], '>', max(_extent(row)) > ends[1]),
    ):
        if beyond:
            axes.plot([end], [height], arrow, color=shade, ms=6, clip_on=False)


def _extent(row: RankedVariant) -> list[float]:
    return [*row.scores.values(), *((row.interval.low, row.interval.high) if row.interval else ())]
