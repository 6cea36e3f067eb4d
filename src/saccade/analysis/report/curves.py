# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Learning curves: metric, training loss and gradient norm against steps and other costs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from saccade.analysis.report.compare import Comparison, RankedVariant
from saccade.analysis.report.cost import SPENT
from saccade.analysis.report.drawing import (
    NARROW,
    SMALL,
    WIDE,
    Canvas,
    ReportPicture,
    colour,
    frame,
    label_ends,
    level,
    limits,
    marker,
    named,
    points_on_hover,
    reaching,
)
from saccade.analysis.report.runs import Trial
from saccade.analysis.report.tables import places
from saccade.analysis.report.words import metric_name, time_unit

_LONGEST = 12  # maximum characters of a name next to its line; longer names are replaced by their number in the key
_MARKERS = 8  # markers per line
_POINTS = 50  # points of a training curve, which is logged often; each is the mean of neighbours
_FINISHED = {}
_UNFINISHED = {'ls': (0, (3, 2)), 'lw': 1.0, 'alpha': 0.8}
_LABELS = {'steps': 'steps', 'tokens': 'training tokens', 'FLOPs': 'training FLOPs'}


@dataclass(frozen=True)
class LearningCurve:
    """Learning curve of a variant.

    Attributes: place of its variant; x, the cost; mean, low and high of the metric over seeds; style.
    """

    place: int
    x: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    style: dict


@dataclass(frozen=True)
class Series:
    """Metric of a split to draw.

    Attributes: name of its pictures; split and metric, as in records; title; baseline, if there is one; points, the
    maximum per line.
    """

    name: str
    split: str
    metric: str
    title: str
    baseline: float | None = None
    points: int | None = None


_TRAINING = (
    Series('loss', 'train', 'loss', 'training loss', points=_POINTS),
    Series('gradient', 'train', 'gradient_norm', 'gradient norm', points=_POINTS),
)


def curves(comparison: Comparison) -> dict[str, ReportPicture]:
    """Draw learning curves against each logged cost."""
    series = _evaluated(comparison)
    found = {axis: list(lines(comparison, axis, series)) for axis in SPENT}
    return {axis: _picture(comparison, series, axis, drawn) for axis, drawn in found.items() if drawn}


def training(comparison: Comparison) -> list[ReportPicture]:
    """Draw the training loss and the gradient norm against steps, if they were logged."""
    found = [(series, list(lines(comparison, 'steps', series))) for series in _TRAINING]
    return [_picture(comparison, series, 'steps', drawn, [SMALL]) for series, drawn in found if drawn]


def lines(comparison: Comparison, axis: str, series: Series | None = None) -> Iterator[LearningCurve]:
    """Yield the curve of each variant over its finished runs, and of each other run, against one cost.

    Args:
        series: metric to draw; by default the metric of the ranking.
    """
    series = series or _evaluated(comparison)
    for standing in comparison.pictured:
        finished = [trial for trial in standing.trials if trial.final(comparison.split)]
        others = [[trial] for trial in standing.trials if not trial.final(comparison.split)]
        for trials, style in ((finished, _FINISHED), *((trials, _UNFINISHED) for trials in others)):
            yield from _curve(series, axis, standing, trials, style)


def names(comparison: Comparison) -> dict[int, str]:
    """Return the label of each variant's line: its name, or its number if names are too long."""
    rows = comparison.pictured
    short = all(len(row.variant) <= _LONGEST for row in rows)
    return {row.place: row.variant if short else str(row.place) for row in rows}


def _evaluated(comparison: Comparison) -> Series:
    title = metric_name(comparison.metric)
    return Series('curve', comparison.split, comparison.metric, title, comparison.baseline)


def _curve(
    series: Series, axis: str, standing: RankedVariant, trials: Sequence[Trial], style: dict
) -> Iterator[LearningCurve]:
    """Yield the curve over some runs, at their common steps, if there are any."""
    values = [trial.by_step(series.split, series.metric) for trial in trials]
    steps = sorted(set.intersection(*map(set, values))) if values else []
    spent = [SPENT[axis](trial, steps) for trial in trials]
    if not steps or any(amounts is None for amounts in spent):
        return
    grid, x = np.array([[run[step] for step in steps] for run in values]), np.mean(spent, axis=0)
    known = np.isfinite(x)
    if known.any():
        grid, x = (_thinned(numbers[..., known], series.points) for numbers in (grid, x))
        yield LearningCurve(standing.place, x, grid.mean(axis=0), grid.min(axis=0), grid.max(axis=0), style)


def _thinned(values: np.ndarray, points: int | None) -> np.ndarray:
    """Average neighbours along the last axis, if there are more values than points."""
    if points is None or values.shape[-1] <= points:
        return values
    return np.stack([part.mean(axis=-1) for part in np.array_split(values, points, axis=-1)], axis=-1)


def _picture(
    comparison: Comparison,
    series: Series,
    axis: str,
    drawn: Sequence[LearningCurve],
    canvases: Sequence[Canvas] = (NARROW, WIDE),
) -> ReportPicture:
    title = f'{series.title.capitalize()} against {"training time" if axis == "time" else axis}'
    longest = max(float(line.x[-1]) for line in drawn)
    unit, label = time_unit(longest) if axis == 'time' else (1.0, _LABELS[axis])
    near = limits([value for line in drawn for value in _late(line, longest)], kept=float(drawn[0].mean[-1]))
    ends = reaching(near, series.baseline)
    called, digits = names(comparison), places(comparison)

    def paint(axes: Axes, canvas: Canvas) -> None:
        frame(axes, canvas, max(called.values(), key=len))
        for line in drawn:
            shade, x, every = colour(line.place), line.x / unit, max(len(line.x) // _MARKERS, 1)
            axes.plot(x, line.mean, color=shade, marker=marker(line.place), markevery=every, **line.style)
            if series.points is None:
                points_on_hover(axes, [*zip(x, line.mean, strict=True)], digits)
            axes.fill_between(x, line.low, line.high, color=shade, alpha=0.15, lw=0)
        named(axes, label, series.title)
        axes.set_ylim(ends)
        level(axes, series.baseline, ends)
        tips = {line.place: (line.x[-1] / unit, line.mean[-1]) for line in reversed(drawn)}  # of the first
        label_ends(axes, canvas, [(*tips[place], called[place], colour(place)) for place in sorted(tips)])

    cut = any(not ends[0] <= value <= ends[1] for line in drawn for value in line.mean)
    note = 'Values of the first quarter and outliers may be cut off.' if cut else ''
    return ReportPicture(title, f'{series.name}-{axis.lower()}', paint, canvases, note)


def _late(line: LearningCurve, longest: float) -> list[float]:
    """Return the values after the first quarter, which is similar for all models; the last value of a short line."""
    late = line.x >= min(longest / 4, line.x[-1])
    return [*line.low[late], *line.high[late]]
