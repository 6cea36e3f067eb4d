# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Metric at equal compute: the metric of each variant at the total FLOPs of the cheapest one.

Each run's learning curve is interpolated between evaluations, linear in the logarithm of the FLOPs. Before the end of a
run its learning rate has not decayed yet, so the comparison is biased against more expensive variants.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from saccade.analysis.report.compare import Comparison, RankedVariant, bounded
from saccade.analysis.report.interval import Interval, mean_intervals
from saccade.analysis.report.multiplier import Course, courses

_ALIKE = 1.01  # maximum ratio of FLOPs for which the ranking itself is at equal compute


@dataclass(frozen=True)
class EqualCompute:
    """Metric at equal compute.

    Attributes: flops, spent by each variant; rows, the ranked variants with their mean and interval there, the best
    first, incomplete ones last; the mean is None if a run was not evaluated by then.
    """

    flops: float
    rows: tuple[tuple[RankedVariant, float | None, Interval | None], ...]

    def records(self) -> dict[str, float | dict[str, float | None]]:
        """Return the FLOPs, and the mean of each variant, with full precision."""
        return {'flops': self.flops, 'means': {row.variant: mean for row, mean, _ in self.rows}}


def equal_compute(comparison: Comparison) -> EqualCompute | None:
    """Return the metric of all ranked variants at equal compute.

    None if all spent the same, FLOPs were not logged, runs ended when they had solved their task, or fewer than two
    variants were evaluated by then.
    """
    found = {row.variant: _finished(comparison, row) for row in comparison.ranked}
    ends = [course.cost[-1] for each in found.values() for course in each.values()]
    if not ends or any(trial.solved is not None for trial in comparison.study.trials) or max(ends) < _ALIKE * min(ends):
        return None
    sign = 1 if comparison.best == 'lowest' else -1
    flops = float(min(ends))
    reached = {variant: [course.metric_at(flops) for course in each.values()] for variant, each in found.items()}
    known = {variant: values for variant, values in reached.items() if values and None not in values}
    if len(known) < 2:
        return None
    intervals = dict(zip(known, mean_intervals(list(known.values())), strict=True))
    means = {variant: sum(values) / len(values) for variant, values in known.items()}
    rows = sorted(
        comparison.ranked,
        key=lambda row: (row.variant not in means, not row.complete, means.get(row.variant, 0.0), row.place),
    )
    signed = (_signed(means.get(row.variant), intervals.get(row.variant), sign) for row in rows)
    both = zip(rows, signed, strict=True)
    return EqualCompute(
        flops, tuple((row, mean, bounded(comparison.declared, interval)) for row, (mean, interval) in both)
    )


def _finished(comparison: Comparison, row: RankedVariant) -> Mapping[int, Course]:
    """Return the learning curve of each seed; the first one of a seed that was run twice."""
    return {seed: found[0] for seed, found in courses(comparison, row, 'FLOPs').items()}


def _signed(mean: float | None, interval: Interval | None, sign: int) -> tuple[float | None, Interval | None]:
    """Convert a metric where lower is better back to the original sign."""
    if interval is not None:
        interval = Interval(*sorted((sign * interval.low, sign * interval.high)))
    return None if mean is None else sign * mean, interval
