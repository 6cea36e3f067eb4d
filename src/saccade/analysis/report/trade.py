# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Trade-off pictures: quality against cost."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from saccade.analysis.report.compare import Comparison, RankedVariant
from saccade.analysis.report.drawing import (
    SMALL,
    Canvas,
    ReportPicture,
    colour,
    frame,
    hover,
    level,
    limits,
    logarithmic,
    marker,
    named,
    numbered,
    reaching,
)
from saccade.analysis.report.tables import places as digits_of
from saccade.analysis.report.words import amount, duration, fixed, metric_name, time_unit

_COSTS = {'parameters': 'parameters', 'FLOPs': 'flops', 'training time': 'seconds', 'state bytes': 'state_bytes'}
_LABELS = {'parameters': 'parameters', 'FLOPs': 'training FLOPs', 'state bytes': 'bytes of decoding state'}


@dataclass(frozen=True)
class Trade:
    """Pictures of the metric against cost.

    Attributes: pictures by cost; same, costs that are equal for all, as text; beyond, values outside the pictures.
    """

    pictures: dict[str, ReportPicture]
    same: dict[str, str]
    beyond: tuple[str, ...]


def trade(comparison: Comparison) -> Trade:
    """Draw the final metric against each cost logged for all variants."""
    rows = [standing for standing in comparison.pictured if standing.mean is not None]
    costs = {name: [getattr(row.cost, field) for row in rows] for name, field in _COSTS.items()}
    known = {name: values for name, values in costs.items() if values and None not in values}
    same = {name: values[0] for name, values in known.items() if len(values) > 1 and len(set(values)) == 1}
    scores = [value for row in rows for value in row.scores.values()]
    ends = reaching(limits(scores, kept=rows[0].mean), comparison.baseline) if rows else (0.0, 0.0)
    near = [row for row in rows if ends[0] <= row.mean <= ends[1]]
    return Trade(
        {name: _picture(comparison, near, name, ends) for name in known if name not in same},
        {name: duration(value) if name == 'training time' else amount(value) for name, value in same.items()},
        tuple(row.variant for row in rows if row not in near),
    )


def _picture(
    comparison: Comparison, rows: Sequence[RankedVariant], name: str, ends: tuple[float, float]
) -> ReportPicture:
    title = f'{metric_name(comparison.metric).capitalize()} against {name}'
    costs = [getattr(row.cost, _COSTS[name]) for row in rows]
    unit, label = time_unit(max(costs)) if name == 'training time' else (1.0, _LABELS[name])
    places = [(cost / unit, row.mean) for row, cost in zip(rows, costs, strict=True)]

    digits = digits_of(comparison)

    def paint(axes: Axes, canvas: Canvas) -> None:
        frame(axes, canvas)
        if name == 'state bytes':
            logarithmic(axes, costs)
        for row, (x, mean) in zip(rows, places, strict=True):
            bars = [[mean - min(row.scores.values())], [max(row.scores.values()) - mean]]
            drawn = axes.errorbar(
                x, mean, yerr=bars, fmt=marker(row.place), color=colour(row.place), ms=6, elinewidth=1
            )
            hover(f'{row.label}: {fixed(mean, digits)}, {label} {x:.4g}', drawn.lines[0])
        named(axes, label, metric_name(comparison.metric))
        axes.set_ylim(ends)
        level(axes, comparison.baseline, ends)
        axes.margins(x=0.12)
        labels = [(str(row.place), colour(row.place)) for row in rows]
        numbered(axes, canvas, [(*place, *text) for place, text in zip(places, labels, strict=True)])

    return ReportPicture(title, f'trade-{name.replace(" ", "-").lower()}', paint, [SMALL])
