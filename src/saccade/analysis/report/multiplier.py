# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Compute and wall-clock multipliers: a baseline's cost to reach a level of the metric, divided by a variant's.

    multiplier = exp(mean over seeds of log(baseline's cost to reach L / variant's cost to reach L))

L is the worse of the two runs' final values, so both have reached it and nothing is extrapolated: where the variant
ends better, L is where the baseline ended, or else where the variant did. The two runs of a seed are a pair. The cost,
FLOPs or seconds of training, is that of the first evaluation at L or better, interpolated from the evaluation before,
linear in the logarithm of the cost. Where either run is at L in its first evaluation, the pair has no multiplier.
The interval is Student's t of the log ratios, at 95%, over five seeds or more, all of which have one; how often it
holds the truth: `benchmarks.multiplier_coverage`. A run that is read before its end had a learning rate that has not
fallen yet, and would be better had it been planned to end there: so of runs of equal cost multipliers err towards 1.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from saccade.analysis.report.compare import Comparison, RankedVariant
from saccade.analysis.report.cost import SPENT
from saccade.analysis.report.drawing import (
    FAINT,
    NARROW,
    WIDE,
    Canvas,
    ReportPicture,
    colour,
    marker,
    named,
    over_lines,
    write,
)
from saccade.analysis.report.interval import LEVEL, Interval
from saccade.analysis.report.runs import Trial
from saccade.analysis.report.words import UNKNOWN, counted, fixed

FEWEST = 5  # minimum seeds of an interval
KINDS = {'compute': 'FLOPs', 'wall-clock': 'time'}  # kinds of multipliers, with their key of SPENT

_ROW = 0.5  # inches per row
_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)

Points = Float[np.ndarray, 'evaluations']


@dataclass(frozen=True)
class Course:
    """Learning curve of one run. Attributes: cost and metric (lower is better) at each evaluation."""

    cost: Points
    metric: Points

    def cost_to_reach(self, level: float) -> float | None:
        """Return the cost at which the metric first reaches a level; None if its first value already does."""
        first = int(np.argmax(self.metric <= level))
        if first == 0:
            return None
        ends = self.metric[first - 1], self.metric[first]
        if not math.isfinite(ends[0]):  # a run that diverged and came back
            return float(self.cost[first])
        share = (ends[0] - level) / (ends[0] - ends[1])
        return float(np.exp(np.interp(share, (0, 1), np.log(self.cost[first - 1 : first + 1]))))

    def metric_at(self, cost: float) -> float | None:
        """Return the metric at a cost, interpolated in its logarithm; None before the first evaluation, or the end."""
        if not self.cost[0] <= cost <= self.cost[-1]:
            return None
        return float(np.interp(np.log(cost), np.log(self.cost), self.metric))


@dataclass(frozen=True)
class Multiplier:
    """Multiplier of a variant over a baseline.

    Attributes: logs, the log ratio of each seed that has one; pairs, number of seeds that both have finished; wanted,
    planned number of seeds.
    """

    logs: Mapping[int, float]
    pairs: int
    wanted: int

    @property
    def mean(self) -> float | None:
        """Geometric mean over seeds."""
        return math.exp(math.fsum(self.logs.values()) / len(self.logs)) if self.logs else None

    @property
    def interval(self) -> Interval | None:
        """95% interval, if there are enough seeds and all have a multiplier."""
        if len(self.logs) < self.wanted:
            return None
        found = log_interval([*self.logs.values()])
        return found and Interval(math.exp(found.low), math.exp(found.high))

    def note(self) -> str:
        """Reason for a missing interval or multiplier; empty if there is an interval."""
        if not self.pairs:
            return 'no seed finished by both'
        if missing := self.pairs - len(self.logs):
            return f'{missing} of {counted(self.pairs, "seed")}: reached before the first evaluation'
        if self.pairs < self.wanted:
            return f'{self.pairs} of {counted(self.wanted, "seed")} finished by both'
        few = self.pairs < FEWEST
        return f'{counted(self.pairs, "seed")}; an interval needs {FEWEST}' if few else ''

    def text(self) -> str:
        """Return the multiplier as text: 1.32 [1.10, 1.58]."""
        if self.mean is None:
            return UNKNOWN
        ends = self.interval and f' [{times(self.interval.low)}, {times(self.interval.high)}]'
        return f'{times(self.mean)}{ends or ""}'

    def record(self) -> dict[str, float | list[float] | int | None]:
        """Return the multiplier with full precision."""
        interval = self.interval
        return {'mean': self.mean, 'interval': interval and [interval.low, interval.high], 'seeds': len(self.logs)}


@dataclass(frozen=True)
class Multipliers:
    """Multipliers of the ranked variants over one of them.

    Attributes: over, the baseline variant's name; rows, each other variant with its multipliers by kind.
    """

    over: str
    rows: Sequence[tuple[RankedVariant, Mapping[str, Multiplier]]]

    @property
    def kinds(self) -> list[str]:
        """Kinds whose costs were logged."""
        return [*self.rows[0][1]] if self.rows else []

    @property
    def noted(self) -> bool:
        """True if any multiplier has a note."""
        return any(each.note() for _, found in self.rows for each in found.values())

    def table(self) -> list[list[str]]:
        """Return the names of the columns, and a row for each variant."""
        heads = [
            'variant',
            *(f'{kind} multiplier [95% interval]' for kind in self.kinds),
            'seeds',
            *(['note'] if self.noted else []),
        ]
        return [heads, *([row.label, *self.texts(found)] for row, found in self.rows)]

    def texts(self, found: Mapping[str, Multiplier]) -> list[str]:
        """Return a row as text: multipliers, number of seeds, and notes."""
        notes = [*dict.fromkeys(filter(None, (each.note() for each in found.values())))]
        pairs = max((each.pairs for each in found.values()), default=0)
        return [*(each.text() for each in found.values()), str(pairs), *(['; '.join(notes)] if self.noted else [])]

    def of_seed(self, variant: str, seed: int) -> dict[str, float | None]:
        """Return the multipliers of a variant's run of one seed, by their column names in a table of runs."""
        found = next((kinds for row, kinds in self.rows if row.variant == variant), {})
        logs = {kind: found[kind].logs.get(seed) if kind in found else None for kind in self.kinds}
        return {
            f'{kind.replace("-", "_")}_multiplier': None if log is None else math.exp(log) for kind, log in logs.items()
        }

    def records(self) -> dict[str, dict[str, dict]]:
        """Return the multipliers by variant and kind, with full precision."""
        return {row.variant: {kind: each.record() for kind, each in found.items()} for row, found in self.rows}


def multipliers(comparison: Comparison) -> Multipliers | None:
    """Return the multipliers over the question's baseline variant; None without one."""
    if comparison.over is None:
        return None
    baseline = next(row for row in comparison.standings if row.variant == comparison.over)
    others = [row for row in comparison.ranked if row is not baseline]
    kinds = {
        kind: [_multiplier(comparison, row, baseline, cost) for row in others]
        for kind, cost in KINDS.items()
        if any(_course(comparison, trial, cost) for trial in baseline.trials)
    }
    rows = [(row, {kind: found[place] for kind, found in kinds.items()}) for place, row in enumerate(others)]
    return Multipliers(comparison.over, rows)


def courses(comparison: Comparison, standing: RankedVariant, cost: str) -> dict[int, list[Course]]:
    """Return the learning curves of a variant's finished runs, by seed. Args: cost, a key of SPENT."""
    found: dict[int, list[Course]] = {}
    for trial in standing.trials:
        course = _course(comparison, trial, cost)
        if course:
            found.setdefault(trial.seed, []).append(course)
    return found


def log_ratio(variant: Course, baseline: Course) -> float | None:
    """Return log(baseline's cost / variant's cost) to reach the worse final value; None if one starts there."""
    level = max(variant.metric[-1], baseline.metric[-1])
    costs = [course.cost_to_reach(level) for course in (baseline, variant)]
    return None if None in costs else math.log(costs[0] / costs[1])


def log_interval(logs: Sequence[float]) -> Interval | None:
    """Return Student's interval of a mean of log ratios; None for fewer than five, or for equal ratios."""
    from scipy import stats

    if len(logs) < FEWEST or np.ptp(logs) == 0:
        return None
    half = stats.t.ppf((1 + LEVEL) / 2, len(logs) - 1) * stats.sem(logs)
    return Interval(float(np.mean(logs) - half), float(np.mean(logs) + half))


def times(value: float) -> str:
    """Format a multiplier with three digits: 1.32, 0.0412, 12.5."""
    return fixed(value, min(max(2 - math.floor(math.log10(value)), 0), 4))


def _multiplier(comparison: Comparison, variant: RankedVariant, baseline: RankedVariant, cost: str) -> Multiplier:
    both = [courses(comparison, row, cost) for row in (variant, baseline)]
    seeds = sorted(set.intersection(*map(set, both)))
    # The pairs of a seed that was run twice are averaged.
    ratios = {seed: [log_ratio(*pair) for pair in product(*(each[seed] for each in both))] for seed in seeds}
    logs = {seed: math.fsum(found) / len(found) for seed, found in ratios.items() if None not in found}
    return Multiplier(logs, len(seeds), variant.wanted)


def _course(comparison: Comparison, trial: Trial, cost: str) -> Course | None:
    """Return a run's learning curve; None without a finite final value or logged costs."""
    final = comparison.value(trial)
    if final is None or not math.isfinite(final):
        return None
    sign = 1 if comparison.best == 'lowest' else -1
    values = trial.by_step(comparison.split, comparison.metric)
    steps = sorted(step for step in values if step > 0)
    spent = SPENT[cost](trial, steps)
    if spent is None or not np.isfinite(spent).all():
        return None
    return Course(np.asarray(spent, np.float64), np.array([sign * values[step] for step in steps]))


def picture(found: Multipliers) -> ReportPicture | None:
    """Draw the multipliers with their intervals on a logarithmic axis; None without multipliers."""
    rows = [(row, kinds) for row, kinds in found.rows if any(each.mean for each in kinds.values())]
    if not rows:
        return None
    title = f'Multipliers over {found.over}'

    def paint(axes: Axes, canvas: Canvas) -> None:
        axes.get_figure().subplots_adjust(0.04, 0.5 / canvas.height, 0.96, 1 - 0.05 / canvas.height)
        axes.set_xscale('log')
        axes.axvline(1.0, color=FAINT, lw=1.0, ls=(0, (6, 3)))
        for height, (row, kinds) in enumerate(rows):
            for lower, each in enumerate(kinds.values()):
                _paint(axes, height + 0.24 * lower, row.place, each, filled=lower == 0)
        low, high = np.multiply(axes.get_xlim(), (1 / 1.25, 1.25))
        axes.set(ylim=(len(rows) - 0.3, -0.75), yticks=[], xlim=(low, high))
        axes.xaxis.set_major_locator(FixedLocator([tick for tick in _TICKS if low <= tick <= high]))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f'{value:g}'))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.spines['left'].set_visible(False)
        named(axes, f'times cheaper than {found.over} (higher is better)')
        for height, (row, _) in enumerate(rows):
            place = axes.get_yaxis_transform()
            text = f'{row.place} {row.label}'
            write(axes, 0.0, height - 0.2, text, va='bottom', fontsize=9, transform=place, **over_lines())

    canvases = [canvas.taller(0.6 + _ROW * len(rows)) for canvas in (NARROW, WIDE)]
    return ReportPicture(title, 'multipliers', paint, canvases)


def _paint(axes: Axes, height: float, place: int, found: Multiplier, filled: bool) -> None:
    shade = colour(place)
    if found.interval:
        axes.plot([found.interval.low, found.interval.high], [height, height], color=shade, lw=2.0 if filled else 1.0)
    if found.mean:
        axes.plot([found.mean], [height], marker(place), color=shade, ms=6, mfc=shade if filled else 'none')
