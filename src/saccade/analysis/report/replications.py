# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Replications of published claims, each decided by a sweep with a margin that its suite declares before the runs.

With d the difference in the direction of the claim and M the margin:

    confirmed       the 95% interval of d is above M
    contradicted    the 95% interval of d is below 0, and below M
    inconclusive    neither

A negative M is the loss that the claim allows. Intervals come from `interval`, paired by seed where the seeds are the
same; equal differences have no spread, and their interval is the difference. A verdict needs five seeds,
all finished by both variants. A claim with several contrasts is confirmed if all are, and contradicted if any is. There
is no correction for the number of claims.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from saccade.analysis.report.compare import Comparison, RankedVariant, StudyQuestion, bounded, compare
from saccade.analysis.report.figures import Table
from saccade.analysis.report.interval import Interval, difference_intervals
from saccade.analysis.report.margin import exact, undecided
from saccade.analysis.report.matrix import Matrix
from saccade.analysis.report.page import marked, table
from saccade.analysis.report.tables import with_interval
from saccade.analysis.report.words import MINUS, counted, decimals, metric_name
from saccade.sweep.record import read_sweep
from saccade.sweep.suite import Claim, Suite, SuiteTask
from saccade.types import UserError, difference

VERDICTS = ('confirmed', 'contradicted', 'inconclusive', 'not run')


@dataclass(frozen=True)
class Contrast:
    """Contrast of a claim: the better variant minus a worse one, on one split.

    Attributes:
        name: the two variants and the split.
        mean: mean difference, positive in the direction of the claim; None without finished runs of both.
        bounds: 95% interval; None if it cannot be computed.
        verdict: one of VERDICTS.
        note: reason for a missing verdict; empty if there is one.
    """

    name: str
    mean: float | None
    bounds: Interval | None
    verdict: str
    note: str = ''


@dataclass(frozen=True)
class Replication:
    """Claim with its contrasts. Attributes: task of the suite; minutes of its finished runs; contrasts."""

    task: SuiteTask
    minutes: float
    contrasts: Sequence[Contrast]

    @property
    def verdict(self) -> str:
        """One of VERDICTS."""
        found = {contrast.verdict for contrast in self.contrasts}
        if 'contradicted' in found:
            return 'contradicted'
        return found.pop() if len(found) == 1 else 'inconclusive' if found else 'not run'


def replications(suite: Suite, found: Matrix) -> list[Replication]:
    """Decide the claims of a suite by the sweeps in its folder.

    Raises:
        UserError: a claim names a variant that its sweep lacks, or a split or metric that no run logs.
    """
    decided = []
    for task in suite.tasks:
        if task.claim is None:
            continue
        comparison = found.comparisons.get(task.name)
        contrasts = [*_contrasts(task, comparison)] if comparison and _has_ended(comparison) else []
        decided.append(Replication(task, _minutes(comparison), contrasts))
    return decided


def _has_ended(comparison: Comparison) -> bool:
    """True if a run has finished; splits of other lengths are evaluated only then."""
    return any(trial.final(comparison.split) for trial in comparison.study.trials)


def _minutes(comparison: Comparison | None) -> float:
    sweep = None if comparison is None else read_sweep(comparison.study.folder)
    return sum(run.seconds or 0.0 for run in sweep.runs) / 60 if sweep else 0.0


def _contrasts(task: SuiteTask, comparison: Comparison) -> Iterator[Contrast]:
    """Yield the contrasts of a claim, by split and worse variant."""
    claim = task.claim
    for split in claim.splits:
        found = compare(comparison.study, StudyQuestion(claim.metric, split))
        before = claim.since and compare(comparison.study, StudyQuestion(claim.metric, claim.since))
        rows = {row.variant: row for row in found.standings}
        scores = {name: _scores(row, before) for name, row in rows.items()}
        for worse in claim.worse:
            for name in (claim.better, worse):
                if name not in rows:
                    raise UserError(f'{task.name}: the claim names {name}, but the sweep has {", ".join(rows)}')
            where = '' if split == 'validation' else f', {split.replace("_", " ")}'
            label = f'{claim.better} minus {worse}{where}'
            sign = 1 if found.best == 'highest' else -1
            both = [rows[claim.better], rows[worse]], [scores[claim.better], scores[worse]]
            contrast, change = _contrast(label, claim, *both, sign), difference(found.declared)
            yield replace(contrast, bounds=bounded(difference(change) if before else change, contrast.bounds))


def _scores(row: RankedVariant, before: Comparison | None) -> Mapping[int, float]:
    """Return the final metric by seed, minus that of another split if there is one."""
    if not before:
        return row.scores
    earlier = next(each for each in before.standings if each.variant == row.variant).scores
    return {seed: value - earlier[seed] for seed, value in row.scores.items() if seed in earlier}


def _contrast(
    label: str, claim: Claim, rows: Sequence[RankedVariant], scores: Sequence[Mapping[int, float]], sign: int
) -> Contrast:
    if not all(scores):
        return Contrast(label, None, None, 'not run')
    better, worse = ({seed: sign * value for seed, value in each.items()} for each in scores)
    mean = sum(better.values()) / len(better) - sum(worse.values()) / len(worse)
    (_, bounds) = difference_intervals([worse, better], best=0)
    bounds = bounds or exact(mean, better, worse)
    short = [row.label for row, each in zip(rows, scores, strict=True) if each.keys() != row.scores.keys()]
    note = f'not finite on {claim.since}: {", ".join(short)}' if short else undecided(rows, bounds)
    return Contrast(label, mean, bounds, 'inconclusive' if note else verdict_of(bounds, claim.margin), note)


def verdict_of(bounds: Interval, margin: float) -> str:
    """Return the verdict on a difference with this interval, in the direction of the claim."""
    if bounds.low > margin:
        return 'confirmed'
    return 'contradicted' if bounds.high < min(0.0, margin) else 'inconclusive'


def summary(decided: Sequence[Replication]) -> str:
    """Return the counts of the verdicts as a sentence."""
    counts = Counter(each.verdict for each in decided)
    said = ', '.join(f'{counts[verdict]} {verdict}' for verdict in VERDICTS if counts[verdict])
    return f'{counted(len(decided), "published claim")}: {said}.'


def shown(decided: Sequence[Replication]) -> Table:
    """Return the verdicts as a table for the terminal."""
    columns, *rows = map(tuple, verdict_rows(decided))
    return Table(summary(decided), columns, rows)


def verdict_rows(decided: Sequence[Replication]) -> list[list[str]]:
    """Return the table of verdicts as text: column names, then one row per contrast."""
    rows = [['claim', 'difference', 'mean [95% interval]', 'margin', 'verdict', 'minutes']]
    for each in decided:
        claim = each.task.claim
        contrasts = each.contrasts or [
            Contrast(f'{claim.better} minus {", ".join(claim.worse)}', None, None, 'not run')
        ]
        widths = [(row.bounds.high - row.bounds.low) / 2 for row in contrasts if row.bounds]
        for number, row in enumerate(contrasts):
            rows.append(
                [
                    each.task.name if number == 0 else '',
                    row.name,
                    with_interval(row.mean, row.bounds, decimals(widths), sign=True),
                    f'{claim.margin:+g}'.replace('-', MINUS) + f' in {metric_name(claim.metric)}',
                    f'{row.verdict}{f" ({row.note})" if row.note else ""}',
                    f'{each.minutes:.0f}' if number == 0 else '',
                ]
            )
    return rows


def claims_section(decided: Sequence[Replication]) -> str:
    """Return the claims with sources, verdicts and differences, in Markdown."""
    claims = [['claim', 'published', 'verdict']]
    claims += [[each.task.name, f'{each.task.claim.says} ({each.task.claim.source})', each.verdict] for each in decided]
    rule = (
        'A difference is positive in the direction of the claim. Confirmed: its 95% interval over seeds is above the '
        'margin, which was declared before the runs. Contradicted: it is below zero and below the margin. '
        'Inconclusive: neither. A claim with several differences is confirmed if all are, and contradicted if any is.'
    )
    return '\n\n'.join([marked(summary(decided)), table(claims), rule, table(verdict_rows(decided))])
