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
    hover,
    limits,
    marker,
    named,
    over_lines,
    reaching,
    write,
)
from saccade.analysis.report.tables import places, with_interval
from saccade.analysis.report.words import fixed, metric_name

_ROW = 0.42  # inches per row


def forest(comparison: Comparison) -> ReportPicture | None:
    """Draw means with their intervals, and the value of each seed; None if nothing is ranked."""
    rows = [standing for standing in comparison.pictured if standing.mean is not None]
    if not rows:
        return None
    baseline = comparison.baseline
    ends = reaching(limits([value for row in rows for value in _extent(row)], kept=rows[0].mean), baseline)
    digits = places(comparison)
    dashed = baseline is not None and ends[0] <= baseline <= ends[1]
    afar = baseline is not None and not dashed
    better = 'lower' if comparison.best == 'lowest' else 'higher'
    title = f'{metric_name(comparison.metric).capitalize()} at the end of training'

    def paint(axes: Axes, canvas: Canvas) -> None:
        axes.get_figure().subplots_adjust(0.04, 0.5 / canvas.height, 0.96, 1 - 0.05 / canvas.height)
        axes.set(xlim=ends, ylim=(len(rows) - 0.3, -0.75), yticks=[])
        named(axes, f'{metric_name(comparison.metric)} ({better} is better)')
        axes.spines['left'].set_visible(False)
        axes.axvline(rows[0].mean, color=FAINT, lw=0.8, ls=(0, (2, 3)))
        if dashed:
            line = axes.axvline(baseline, color=FAINT, lw=1.0, ls=(0, (6, 3)))
            hover(f'simple baseline {fixed(baseline, digits)}', line)
        if afar:
            above, text = baseline > ends[1], f'simple baseline {fixed(baseline, digits)}'
            x, side, text = (ends[1], 'right', f'{text} →') if above else (ends[0], 'left', f'← {text}')
            write(axes, x, len(rows) - 0.35, text, ha=side, va='bottom', color=FAINT, fontsize=8.5, **over_lines())
        for height, row in enumerate(rows):
            _paint_row(axes, height, row, ends, digits)

    cut = any(not ends[0] <= value <= ends[1] for row in rows for value in _extent(row))
    notes = {
        'The dashed line is the simple baseline.': dashed,
        'The simple baseline is outside the picture.': afar,
        'Arrows mark values outside the picture.': cut,
    }
    canvases = [canvas.taller(0.6 + _ROW * len(rows)) for canvas in (NARROW, WIDE)]
    return ReportPicture(title, 'forest', paint, canvases, ' '.join(note for note, holds in notes.items() if holds))


def _paint_row(axes: Axes, height: int, row: RankedVariant, ends: tuple[float, float], digits: int) -> None:
    shade, said = colour(row.place), f'{row.label}: {with_interval(row.mean, row.interval, digits)}'
    text = f'{row.place} {row.label}'
    write(axes, ends[0], height - 0.3, text, va='bottom', fontsize=9, clip_on=True, **over_lines())
    if row.interval:
        ends_of = [row.interval.low, row.interval.high]
        hover(said, *axes.plot(ends_of, [height, height], color=shade, lw=2.2, solid_capstyle='butt'))
    for seed, score in row.scores.items():
        hover(f'seed {seed}: {fixed(score, digits)}', *axes.plot([score], [height], '|', color=INK, ms=8, mew=0.8))
    hover(said, *axes.plot([row.mean], [height], marker(row.place), color=shade, ms=7))
    for end, arrow, beyond in (
        (ends[0], '<', min(_extent(row)) < ends[0]),
        (ends[1], '>', max(_extent(row)) > ends[1]),
    ):
        if beyond:
            axes.plot([end], [height], arrow, color=shade, ms=6, clip_on=False)


def _extent(row: RankedVariant) -> list[float]:
    return [*row.scores.values(), *((row.interval.low, row.interval.high) if row.interval else ())]
