# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Metric of the variants against a number that the sweep varies, such as the sequence length."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from saccade.analysis.report.compare import PICTURED, Comparison
from saccade.analysis.report.drawing import (
    NARROW,
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
from saccade.analysis.report.tables import places
from saccade.analysis.report.words import metric_name

_FEWEST = 3  # minimum points of a line
_LONGEST = 12  # maximum characters of a name next to its line; longer names are replaced by their number in the key

Lines = Mapping[str, Sequence[tuple[float, float]]]


@dataclass(frozen=True)
class Across:
    """Metric against a number that the sweep varies.

    Attributes: field, the name of the number; lines, by the other differing fields, with the mean at each value;
    picture; incomplete, variants with missing seeds, with the number of finished and planned seeds.
    """

    field: str
    lines: Lines
    picture: ReportPicture
    incomplete: tuple[str, ...] = ()


def across(comparison: Comparison) -> Across | None:
    """Return the metric against the number with the most values; None if none has three with equal other fields."""
    columns = list(zip(*(standing.fields for standing in comparison.ranked), strict=True))
    numbers = {place: _numbers(texts) for place, texts in enumerate(columns)}
    swept = [place for place, values in numbers.items() if values is not None and len(set(values)) >= _FEWEST]
    if not swept:
        return None
    # Among several, such as a length and derived sizes, take the one in the fewest fields.
    place = max(swept, key=lambda place: (len(set(numbers[place])), -len(comparison.columns[place])))
    others = [texts for texts in columns if not _follows(texts, numbers[place])]
    lines: dict[str, list[tuple[float, float]]] = {}
    for row, (x, standing) in enumerate(zip(numbers[place], comparison.ranked, strict=True)):
        lines.setdefault(', '.join(texts[row] for texts in others), []).append((x, standing.mean))
    drawn = {name: sorted(points) for name, points in lines.items() if len(points) >= _FEWEST}
    drawn = dict(list(drawn.items())[:PICTURED])
    field = comparison.columns[place]
    incomplete = tuple(standing.label for standing in comparison.incomplete)
    return Across(field, drawn, _picture(comparison, field, drawn), incomplete) if drawn else None


def _numbers(texts: Sequence[str]) -> list[float] | None:
    """Return the values if all are numbers, else None."""
    try:
        values = [float(text) for text in texts]
    except ValueError:
        return None
    return values if all(map(math.isfinite, values)) else None


def _follows(texts: Sequence[str], values: Sequence[float]) -> bool:
    """Return True if a field is a monotonic function of the number, like sizes derived from it.

    A field that is drawn independently of the number is not, nor is a part that the number was matched to.
    """
    pairs = sorted(set(zip(values, texts, strict=True)))
    own = _numbers([text for _, text in pairs])
    steps = [after - before for before, after in pairwise(own or ())]
    in_order = all(step >= 0 for step in steps) or all(step <= 0 for step in steps)
    return own is not None and len(pairs) == len(set(values)) and in_order


def _picture(comparison: Comparison, field: str, lines: Lines) -> ReportPicture:
    title = f'{metric_name(comparison.metric).capitalize()} by {field}'
    points = [point for line in lines.values() for point in line]
    xs, ys = zip(*points, strict=True)
    ends = reaching(limits(ys, kept=ys[0]), comparison.baseline)
    digits = places(comparison)
    short = all(len(name) <= _LONGEST for name in lines)
    called = {name: name if short else str(number) for number, name in enumerate(lines, start=1)}

    def paint(axes: Axes, canvas: Canvas) -> None:
        frame(axes, canvas, max(called.values(), key=len))
        if min(xs) > 0 and max(xs) >= 10 * min(xs):
            axes.set_xscale('log')
        elif all(map(float.is_integer, xs)):
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        for number, line in enumerate(lines.values(), start=1):
            axes.plot(*zip(*line, strict=True), color=colour(number), marker=marker(number))
            points_on_hover(axes, line, digits)
        named(axes, field, metric_name(comparison.metric))
        axes.set_ylim(ends)
        level(axes, comparison.baseline, ends)
        tips = [(*line[-1], called[name], colour(place)) for place, (name, line) in enumerate(lines.items(), start=1)]
        if len(lines) > 1:
            label_ends(axes, canvas, tips)

    return ReportPicture(title, 'across', paint, [NARROW, WIDE])
