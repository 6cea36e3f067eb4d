# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The pictures of learning curves: the metric against what was spent by then."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from saccade.analysis.report.compare import Comparison, Standing
from saccade.analysis.report.cost import SPENT
from saccade.analysis.report.drawing import (
    NARROW,
    WIDE,
    Canvas,
    Picture,
    beside,
    colour,
    draw,
    frame,
    limits,
    marker,
    named,
)
from saccade.analysis.report.runs import Trial
from saccade.analysis.report.words import metric_name, time_unit

_LONGEST = 12  # characters of a variant's name beside its line; longer ones are called by their number in the key
_MARKERS = 8  # on a line
_FINISHED = {}
_UNFINISHED = {'ls': (0, (3, 2)), 'lw': 1.0, 'alpha': 0.8}
_LABELS = {'steps': 'steps', 'tokens': 'training tokens', 'FLOPs': 'training FLOPs'}


@dataclass(frozen=True)
class Curve:
    """Attributes: place of its variant; x, what was spent; mean, low and high of the metric over seeds; style."""

    place: int
    x: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    style: dict


def curves(comparison: Comparison) -> dict[str, Picture]:
    """Learning curves against each cost that was logged."""
    found = {axis: list(lines(comparison, axis)) for axis in SPENT}
    return {axis: _picture(comparison, axis, found_lines) for axis, found_lines in found.items() if found_lines}


def lines(comparison: Comparison, axis: str) -> Iterator[Curve]:
    """The curve of each variant over its finished runs, and of each other run, against one cost."""
    for standing in comparison.pictured:
        finished = [trial for trial in standing.trials if trial.final(comparison.split)]
        others = [[trial] for trial in standing.trials if not trial.final(comparison.split)]
        for trials, style in ((finished, _FINISHED), *((trials, _UNFINISHED) for trials in others)):
            yield from _curve(comparison, axis, standing, trials, style)


def names(comparison: Comparison) -> dict[int, str]:
    """What the variant of each place is called beside its line: its name, or its place where names are too long."""
    rows = comparison.pictured
    short = all(len(row.variant) <= _LONGEST for row in rows)
    return {row.place: row.variant if short else str(row.place) for row in rows}


def _curve(
    comparison: Comparison, axis: str, standing: Standing, trials: Sequence[Trial], style: dict
) -> Iterator[Curve]:
    """The curve over some runs, at the steps they all have; none where there are no such steps."""
    values = [_by_step(trial, comparison) for trial in trials]
    steps = sorted(set.intersection(*map(set, values))) if values else []
    spent = [SPENT[axis](trial, steps) for trial in trials]
    if not steps or any(amounts is None for amounts in spent):
        return
    grid, x = np.array([[run[step] for step in steps] for run in values]), np.mean(spent, axis=0)
    known = np.isfinite(x)
    if known.any():
        grid = grid[:, known]
        yield Curve(standing.place, x[known], grid.mean(axis=0), grid.min(axis=0), grid.max(axis=0), style)


def _by_step(trial: Trial, comparison: Comparison) -> dict[int, float]:
    records = (record for record in trial.of(comparison.split) if comparison.metric in record)
    found = {record['step']: float(record[comparison.metric]) for record in records}
    return {step: value for step, value in found.items() if math.isfinite(value)}


def _picture(comparison: Comparison, axis: str, drawn: Sequence[Curve]) -> Picture:
    title = f'{metric_name(comparison.metric).capitalize()} against {"training time" if axis == "time" else axis}'
    longest = max(float(line.x[-1]) for line in drawn)
    unit, label = time_unit(longest) if axis == 'time' else (1.0, _LABELS[axis])
    ends = limits([value for line in drawn for value in _late(line, longest)], kept=float(drawn[0].mean[-1]))
    called = names(comparison)

    def paint(axes: Axes, canvas: Canvas) -> None:
        frame(axes, canvas, max(called.values(), key=len))
        for line in drawn:
            _paint_line(axes, line, unit)
        named(axes, label, metric_name(comparison.metric))
        axes.set_ylim(ends)
        tips = {line.place: (line.x[-1] / unit, line.mean[-1]) for line in reversed(drawn)}  # of the first, if finished
        beside(axes, canvas, [(*tips[place], called[place], colour(place)) for place in sorted(tips)])

    cut = any(not ends[0] <= value <= ends[1] for line in drawn for value in line.mean)
    note = (
        'Values of the first quarter, and those far from all others, are cut off where they do not fit.' if cut else ''
    )
    return Picture(title, draw(f'curve-{axis.lower()}', title, paint, [NARROW, WIDE]), note)


def _late(line: Curve, longest: float) -> list[float]:
    """Values after the first quarter, in which a model learns what all models learn; of short lines the last."""
    late = line.x >= min(longest / 4, line.x[-1])
    return [*line.low[late], *line.high[late]]


def _paint_line(axes: Axes, line: Curve, unit: float) -> None:
    shade, x, every = colour(line.place), line.x / unit, max(len(line.x) // _MARKERS, 1)
    axes.plot(x, line.mean, color=shade, marker=marker(line.place), markevery=every, **line.style)
    axes.fill_between(x, line.low, line.high, color=shade, alpha=0.15, lw=0)
