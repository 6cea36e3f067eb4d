# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Length extrapolation: the metric on sequences of other lengths than in training."""

import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from saccade.analysis.report.compare import Comparison, RankedVariant, bounded, final_scores
from saccade.analysis.report.curves import names
from saccade.analysis.report.drawing import (
    NARROW,
    WIDE,
    Canvas,
    ReportPicture,
    colour,
    doubling,
    frame,
    label_ends,
    limits,
    marker,
    named,
    points_on_hover,
)
from saccade.analysis.report.interval import Interval, mean_intervals
from saccade.analysis.report.tables import places, with_interval
from saccade.analysis.report.words import UNKNOWN, decimals, metric_name


@dataclass(frozen=True)
class LengthMean:
    """Mean of a metric at one length.

    Attributes: mean of the metric over seeds; lowest and highest seed; interval of the mean, if there is one; seeds, a
    note on missing seeds, empty if there are none.
    """

    mean: float
    lowest: float
    highest: float
    interval: Interval | None
    seeds: str = ''


Line = tuple[RankedVariant, list[tuple[float, float]]]


@dataclass(frozen=True)
class Lengths:
    """Metric by sequence length.

    Attributes: lengths in tokens, the training length first; rows, the means of each ranked variant, None if no run
    logged one; lines, lengths and means of the variants that have all, the shortest length first; digits of the
    numbers; picture.
    """

    lengths: tuple[int, ...]
    rows: tuple[tuple[RankedVariant, tuple[LengthMean | None, ...]], ...]
    lines: tuple[Line, ...]
    digits: int
    picture: ReportPicture

    def text(self, cell: LengthMean | None) -> str:
        """Return a mean as text."""
        return UNKNOWN if cell is None else with_interval(cell.mean, cell.interval, self.digits) + cell.seeds


def lengths(comparison: Comparison) -> Lengths | None:
    """Return the metric by length; None if the runs were not evaluated at other lengths, or trained at several."""
    trained = {trial.config['data'].get('context_length') for trial in comparison.study.trials if trial.config}
    measured = _measured(comparison)
    if len(trained) != 1 or None in trained or not measured - trained:
        return None
    first = trained.pop()
    splits = {length: f'{comparison.split}_{length}' for length in sorted(measured - {first})}
    # The value on the same text as the others, if the trained length is among the evaluated ones.
    splits = {first: f'{comparison.split}_{first}' if first in measured else comparison.split, **splits}
    columns = [_column(comparison, split) for split in splits.values()]
    rows = tuple((standing, tuple(column.get(standing.place) for column in columns)) for standing in comparison.ranked)
    halves = [
        (cell.interval.high - cell.interval.low) / 2 for _, cells in rows for cell in cells if cell and cell.interval
    ]
    lines = tuple(
        (standing, sorted((float(tokens), cell.mean) for tokens, cell in zip(splits, cells, strict=True)))
        for standing, cells in rows
        if None not in cells
    )
    return Lengths(tuple(splits), rows, lines, decimals(halves), _picture(comparison, lines))


def _measured(comparison: Comparison) -> set[int]:
    """Return the lengths at which some run was evaluated at its end."""
    name = re.compile(rf'{re.escape(comparison.split)}_(\d+)')
    records = (record for trial in comparison.study.trials for record in trial.records)
    found = (name.fullmatch(record.get('split', '')) for record in records)
    return {int(match[1]) for match in found if match}


def _column(comparison: Comparison, split: str) -> Mapping[int, LengthMean]:
    """Return the means at one length by the variant's place."""
    scores = {
        standing.place: list(final_scores(standing.trials, split, comparison.metric).values())
        for standing in comparison.ranked
    }
    known = {place: values for place, values in scores.items() if values}
    spans = [bounded(comparison.declared, interval) for interval in mean_intervals(list(known.values()))]
    return {
        place: LengthMean(statistics.fmean(values), min(values), max(values), span, _seeds(comparison, values))
        for (place, values), span in zip(known.items(), spans, strict=True)
    }


def _seeds(comparison: Comparison, values: Sequence[float]) -> str:
    """Return the number of evaluated and planned seeds as text; empty if all are evaluated."""
    wanted = comparison.ranked[0].wanted
    return '' if len(values) == wanted else f' ({len(values)} of {wanted} seeds)'


def _picture(comparison: Comparison, lines: Sequence[Line]) -> ReportPicture:
    title = f'{metric_name(comparison.metric).capitalize()} by length'
    drawn = [(standing.place, line) for standing, line in lines if standing in comparison.pictured]
    values = [mean for _, line in drawn for _, mean in line]
    if not drawn:
        return ReportPicture(title, 'lengths', lambda axes, canvas: frame(axes, canvas), [NARROW, WIDE])
    ends = limits(values, kept=values[0])
    called, digits = names(comparison), places(comparison)

    def paint(axes: Axes, canvas: Canvas) -> None:
        frame(axes, canvas, max(called.values(), key=len))
        doubling(axes, [length for length, _ in drawn[0][1]])
        for place, line in drawn:
            axes.plot(*zip(*line, strict=True), color=colour(place), marker=marker(place))
            points_on_hover(axes, line, digits)
        named(axes, 'tokens of a sequence', metric_name(comparison.metric))
        axes.set_ylim(ends)
        label_ends(axes, canvas, [(*line[-1], called[place], colour(place)) for place, line in drawn])

    cut = any(value > ends[1] for value in values)
    return ReportPicture(title, 'lengths', paint, [NARROW, WIDE], 'Outliers are cut off.' if cut else '')
