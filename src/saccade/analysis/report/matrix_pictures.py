# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Pictures of a matrix, one for each task: the metric against bytes of state, and by sequence length.

A variant has one colour and one number in all of them: its row in the matrix.
"""

from collections.abc import Mapping, Sequence

from markupsafe import Markup
from matplotlib.axes import Axes

from saccade.analysis.report import tables
from saccade.analysis.report.compare import Comparison, RankedVariant
from saccade.analysis.report.drawing import (
    SMALL,
    Canvas,
    ReportPicture,
    colour,
    doubling,
    frame,
    label_ends,
    level,
    logarithmic,
    marker,
    named,
    numbered,
)
from saccade.analysis.report.lengths import lengths
from saccade.analysis.report.words import fixed, metric_name

Line = Sequence[tuple[float, float]]

_MARGIN = 0.04  # margin above and below, as a share of the range of the metric


def against_state(comparisons: Mapping[str, Comparison], places: Mapping[str, int]) -> dict[str, ReportPicture]:
    """Draw the metric against the bytes of decoding state, for each task in which variants differ in them."""
    found = {}
    for number, (task, comparison) in enumerate(comparisons.items()):
        rows = [row for row in comparison.ranked if row.cost.state_bytes is not None]
        points = {places[row.variant]: [(float(row.cost.state_bytes), row.mean)] for row in rows}
        if len({row.cost.state_bytes for row in rows}) > 1:
            found[task] = _picture(f'state-{number}', task, comparison, points, 'bytes of decoding state')
    return found


def by_length(comparisons: Mapping[str, Comparison], places: Mapping[str, int]) -> dict[str, ReportPicture]:
    """Draw the metric by length, for each task that was evaluated at other lengths than in training."""
    found = {}
    for number, (task, comparison) in enumerate(comparisons.items()):
        measured = lengths(comparison)
        lines = {places[row.variant]: line for row, line in measured.lines} if measured else {}
        if lines:
            label = f'tokens of a sequence (trained on {measured.lengths[0]})'
            found[task] = _picture(f'length-{number}', task, comparison, lines, label)
    return found


def seed_curves(comparison: Comparison, standing: RankedVariant, place: int) -> Markup:
    """Return the metric of each run of a cell by step, as a small SVG; empty if no run was measured twice."""
    measured = (trial.by_step(comparison.split, comparison.metric) for trial in standing.trials)
    lines = [[*each.items()] for each in measured if len(each) > 1]
    if not lines:
        return Markup()
    values = [value for line in lines for _, value in line] + [comparison.baseline] * (comparison.baseline is not None)
    low, high, steps = min(values), max(values), max(trial.steps for trial in standing.trials)

    def at(step: float, value: float) -> str:
        return f'{10 + 300 * step / steps:.1f},{95 - 80 * (value - low) / ((high - low) or 1):.1f}'

    drawn = [Markup('<polyline points="{}"/>').format(' '.join(at(*point) for point in line)) for line in lines]
    if comparison.baseline is not None:
        ends = f'{at(0, comparison.baseline)} {at(steps, comparison.baseline)}'
        drawn.append(Markup('<polyline class="chance" points="{}"/>').format(ends))
    digits = max(tables.places(comparison), 2)
    words = f'{metric_name(comparison.metric)} of {len(lines)} seeds by step'
    texts = (
        (10, 10, 'start', fixed(high, digits)),
        (10, 112, 'start', fixed(low, digits)),
        (310, 112, 'end', f'{steps:,} steps'),
    )
    drawn += [Markup('<text x="{}" y="{}" text-anchor="{}">{}</text>').format(*text) for text in texts]
    svg = Markup('<svg class="seeds" viewBox="0 0 320 118" role="img" aria-label="{}" style="color: {}">{}</svg>')
    return svg.format(words, colour(place), Markup().join(drawn))


def _picture(name: str, task: str, comparison: Comparison, lines: Mapping[int, Line], label: str) -> ReportPicture:
    xs, ys = zip(*(point for line in lines.values() for point in line), strict=True)
    known = [*ys, *([] if comparison.baseline is None else [comparison.baseline])]
    margin = _MARGIN * ((max(known) - min(known)) or 1.0)
    ends = min(known) - margin, max(known) + margin
    single = all(len(line) == 1 for line in lines.values())

    def paint(axes: Axes, canvas: Canvas) -> None:
        frame(axes, canvas, '' if single else '00')
        if single:
            logarithmic(axes, xs)
        else:
            doubling(axes, sorted(set(xs)))
        for place, line in sorted(lines.items()):
            axes.plot(*zip(*line, strict=True), color=colour(place), marker=marker(place), ms=6 if single else 4.5)
        named(axes, label, metric_name(comparison.metric))
        axes.set_ylim(ends)
        level(axes, comparison.baseline, ends, 'chance')
        axes.margins(x=0.12 if single else 0.05)
        tips = [(*line[-1], str(place), colour(place)) for place, line in sorted(lines.items())]
        (numbered if single else label_ends)(axes, canvas, tips)

    return ReportPicture(task, name, paint, [SMALL], words=f'{task}: {metric_name(comparison.metric)} by {label}')
