# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Non-inferiority test of each variant against a baseline, with a margin that the sweep declared before its runs.

With d the difference to the baseline, positive where the variant is better, and M the margin:

    better          the lower one-sided 95% bound of d is above M: a gain of M or less is excluded
    not worse       it is above -M: a loss of M or more is excluded
    worse           the upper one-sided 95% bound of d is below -M: a loss of M or less is excluded
    inconclusive    neither

A variant can thus lose significantly and be not worse, if its loss is smaller than the margin, and gain significantly
without being better. The bounds are the ends of the 90% interval of `interval`, paired by seed where the seeds are the
same. Each has its own level of 95%: there is no correction for the number of variants, as for the other intervals of a
report. Seeds with equal differences have no interval; both bounds are then the difference itself, the limit of a
vanishing spread. A verdict needs five seeds, all finished by both. `python -m benchmarks.coverage --bounds` measures
how often the bounds hold.

ICH E9 (1998), Statistical principles for clinical trials, section 3.3.2 (the margin is chosen in the
protocol); G. Piaggio et al. 2012, Reporting of noninferiority and equivalence randomized trials: extension of the
CONSORT 2010 statement, JAMA 308(24), figure 1; D. Lakens 2017, Equivalence tests, Soc. Psychol. Personal. Sci. 8(4).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from saccade.analysis.report.compare import PICTURED, PRIMARY_SPLIT, Comparison, RankedVariant, bounded
from saccade.analysis.report.drawing import (
    FAINT,
    NARROW,
    WIDE,
    Canvas,
    ReportPicture,
    colour,
    hover,
    marker,
    named,
    over_lines,
    write,
)
from saccade.analysis.report.interval import Interval, Values, difference_intervals, mean_intervals
from saccade.analysis.report.words import UNKNOWN, counted, decimals, fixed, metric_name
from saccade.types import difference

FEWEST = 5  # minimum seeds of a verdict
LEVEL = 0.95  # of each bound
VERDICTS = ('better', 'not worse', 'inconclusive', 'worse')

JUDGED = (
    'Verdicts follow from the margin and two one-sided 95% bounds, the ends of the 90% interval. Better: the bounds '
    'exclude a gain of the margin or less. Not worse: they exclude a loss of the margin or more. Worse: they exclude a '
    'loss of the margin or less. Inconclusive: none of these.'
)

_ROW = 0.42  # inches per row


@dataclass(frozen=True)
class BaselineDifference:
    """Difference of a variant to the baseline.

    Attributes:
        mean: mean of the variant minus the mean of the baseline.
        bounds: lower and upper one-sided 95% bound of the difference; None with a single seed.
        verdict: one of VERDICTS; None without a margin.
        note: reason for a missing test; empty if there is one.
    """

    row: RankedVariant
    mean: float
    bounds: Interval | None
    verdict: str | None
    note: str = ''


@dataclass(frozen=True)
class Judgement:
    """Verdict on a difference. Attributes: bounds, both one-sided 95% bounds, None with one seed; verdict."""

    bounds: Interval | None
    verdict: str

    def texts(self, digits: int) -> tuple[str, str]:
        """Return the bounds and the verdict as text."""
        low, high = (fixed(bound, digits, sign=True) for bound in _ends(self.bounds))
        return (UNKNOWN if self.bounds is None else f'[{low}, {high}]'), self.verdict


@dataclass(frozen=True)
class MarginTest:
    """Differences of the ranked variants to the baseline.

    Attributes: said, a summary sentence; over, the baseline; rows, the other variants, in the order of the ranking;
    loss, the difference of a variant that loses exactly the margin, None without a margin.
    """

    said: str
    over: str
    metric: str
    rows: Sequence[BaselineDifference] = ()
    loss: float | None = None

    def table(self) -> list[list[str]]:
        """Return the names of the columns, and a row for each variant; empty without differences."""
        if not self.rows:
            return []
        digits = decimals([(row.bounds.high - row.bounds.low) / 2 for row in self.rows if row.bounds])
        heads = ['variant', f'difference in {metric_name(self.metric)}', 'lower bound', 'upper bound']
        judged, noted = any(row.verdict for row in self.rows), any(row.note for row in self.rows)
        rows = [
            [
                found.row.label,
                fixed(found.mean, digits, sign=True),
                *(fixed(bound, digits, sign=True) for bound in _ends(found.bounds)),
                *([found.verdict or UNKNOWN] if judged else []),
                *([found.note] if noted else []),
            ]
            for found in self.rows
        ]
        return [[*heads, *(['verdict'] if judged else []), *(['note'] if noted else [])], *rows]

    def of(self, variant: str) -> BaselineDifference | None:
        """Return the difference of a variant; None for the baseline and for variants without a finished run."""
        return next((found for found in self.rows if found.row.variant == variant), None)


def margin_test(comparison: Comparison) -> MarginTest | None:
    """Compare the ranked variants with the baseline; None without a baseline."""
    if comparison.over is None:
        return None
    baseline = next(row for row in comparison.standings if row.variant == comparison.over)
    if baseline.mean is None:
        said = f'{baseline.variant}, the baseline, has no finished run yet, so nothing can be compared with it.'
        return MarginTest(said, baseline.variant, comparison.metric)
    others = [row for row in comparison.ranked if row is not baseline]
    bounds = difference_intervals([baseline.scores, *(row.scores for row in others)], best=0, level=2 * LEVEL - 1)[1:]
    spans = [bounded(difference(comparison.declared), span) for span in bounds]
    rows = [_compared(comparison.loss, row, baseline, span) for row, span in zip(others, spans, strict=True)]
    return MarginTest(_said(comparison, rows), baseline.variant, comparison.metric, rows, comparison.loss)


def _compared(
    loss: float | None, row: RankedVariant, baseline: RankedVariant, bounds: Interval | None
) -> BaselineDifference:
    mean = row.mean - baseline.mean
    bounds = bounds or exact(mean, row.scores, baseline.scores)
    note = undecided((row, baseline), bounds)
    if loss is None:
        return BaselineDifference(row, mean, bounds, None, note)
    return BaselineDifference(row, mean, bounds, 'inconclusive' if note else verdict_of(bounds, loss), note)


def exact(mean: float, one: Mapping[int, float], other: Mapping[int, float]) -> Interval | None:
    """Return the bounds of a difference without an interval: the difference itself, if two groups share their seeds."""
    return _exact(mean) if len(one) > 1 and one.keys() == other.keys() else None


def undecided(rows: Sequence[RankedVariant], bounds: Interval | None) -> str:
    """Return the reason for a missing verdict on the difference of two variants; empty if there can be one."""
    short = [each.label for each in rows if not each.complete]
    if short:  # the remaining seeds are a biased sample
        return f'incomplete: {", ".join(short)}'
    count = len(rows[0].scores)
    if count < FEWEST:
        return f'{counted(count, "seed")}; a verdict needs {FEWEST}'
    return '' if bounds else 'no bounds: the seeds differ, and a variant has equal values'


def judgements(comparison: Comparison, changes: Sequence[Values]) -> list[Judgement | None]:
    """Return the verdict on the mean of each group of changes by seed; None without a margin."""
    if comparison.loss is None:
        return [None] * len(changes)
    return [
        _judgement(
            bounded(difference(comparison.declared), span) or _exact(change.mean()), len(change), comparison.loss
        )
        for change, span in zip(changes, mean_intervals(changes, 2 * LEVEL - 1), strict=True)
    ]


def _judgement(bounds: Interval, seeds: int, loss: float) -> Judgement:
    if seeds < FEWEST:
        return Judgement(bounds if seeds > 1 else None, 'inconclusive')
    return Judgement(bounds, verdict_of(bounds, loss))


def verdict_of(bounds: Interval, loss: float) -> str:
    """Return the verdict on a difference with these bounds; a loss is the margin with the sign of a worse value."""
    margin = abs(loss)
    low, high = (bounds.low, bounds.high) if loss < 0 else (-bounds.high, -bounds.low)  # of the gain
    if low > margin:
        return 'better'
    if low > -margin:
        return 'not worse'
    return 'worse' if high < -margin else 'inconclusive'


def picture(found: MarginTest) -> ReportPicture | None:
    """Draw the differences with their bounds, and the margin; None without bounds."""
    rows = [each for each in found.rows if each.bounds][:PICTURED]
    if not rows:
        return None
    title = f'Differences to {found.over}'
    reached = [
        0.0,
        *([] if found.loss is None else [found.loss]),
        *(end for each in rows for end in _ends(each.bounds)),
    ]
    room = 0.05 * (max(reached) - min(reached)) or 1.0

    def paint(axes: Axes, canvas: Canvas) -> None:
        axes.get_figure().subplots_adjust(0.04, 0.5 / canvas.height, 0.96, 1 - 0.05 / canvas.height)
        axes.set(xlim=(min(reached) - room, max(reached) + room), ylim=(len(rows) - 0.3, -0.75), yticks=[])
        axes.spines['left'].set_visible(False)
        axes.axvline(0.0, color=FAINT, lw=0.8, ls=(0, (2, 3)))
        if found.loss is not None:
            axes.axvline(found.loss, color=FAINT, lw=1.0, ls=(0, (6, 3)))
        named(axes, f'difference in {metric_name(found.metric)}')
        for height, each in enumerate(rows):
            shade, text = colour(each.row.place), f'{each.row.place} {each.row.label}'
            text += f': {each.verdict}' if each.verdict else ''
            axes.plot(_ends(each.bounds), [height, height], color=shade, lw=2.2, solid_capstyle='butt')
            said = f'{each.row.label}: {each.mean:+.4g} [{each.bounds.low:+.4g}, {each.bounds.high:+.4g}]'
            hover(said, *axes.plot([each.mean], [height], marker(each.row.place), color=shade, ms=7))
            place = axes.get_yaxis_transform()
            write(axes, 0.0, height - 0.3, text, va='bottom', fontsize=9, transform=place, **over_lines())

    return ReportPicture(title, 'margin', paint, [each.taller(0.6 + _ROW * len(rows)) for each in (NARROW, WIDE)])


def _said(comparison: Comparison, rows: Sequence[BaselineDifference]) -> str:
    declared = comparison.study.primary
    if comparison.margin is not None:
        counts = Counter(row.verdict for row in rows)
        found = ', '.join(f'{counts[verdict]} {verdict}' for verdict in VERDICTS)
        amount = f'{comparison.margin:g} {comparison.declared.unit}'.rstrip()
        return (
            f'With a margin of {amount} in {metric_name(comparison.metric)}, declared before the runs, of '
            f'{counted(len(rows), "variant")} compared with {comparison.over}: {found}.'
        )
    if declared.margin is None:
        return f'Differences to {comparison.over}. The sweep declares no margin, so there are no verdicts.'
    return (
        f'Differences to {comparison.over}. There are no verdicts, since the sweep declares its margin for '
        f'{metric_name(declared.metric)} of {PRIMARY_SPLIT} against {declared.baseline}.'
    )


def _exact(mean: float) -> Interval:
    """Return the bounds of equal differences: the limit of a vanishing spread."""
    return Interval(float(mean), float(mean))


def _ends(bounds: Interval | None) -> tuple[float | None, float | None]:
    return (None, None) if bounds is None else (bounds.low, bounds.high)
