# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Critical-difference view: significant differences among all pairs of variants, over seeds or over tasks.

Over the seeds of one sweep: paired t-tests of every pair, with Holm's correction at 5% over all pairs. Wilcoxon's test
(Benavoli et al. 2016, Should we really use post-hoc tests based on mean-ranks?, JMLR 17) is never significant at 5%
with five seeds, as its smallest p is 1/16. Over tasks, whose metrics have no common scale: Friedman's test of the ranks
within each task, with the correction of Iman and Davenport, and if it is significant Nemenyi's critical difference of
mean ranks

    CD = q sqrt(k (k + 1) / (6 N)),   k variants, N tasks, q = the 95% studentised range of k over sqrt(2)

J. Demšar 2006, Statistical Comparisons of Classifiers over Multiple Data Sets, JMLR 7, section 3.2.2. Both need at
least five seeds or tasks. Seeds of one task are no evidence about other tasks.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes

from saccade.analysis.report.compare import Comparison
from saccade.analysis.report.drawing import (
    FAINT,
    INK,
    NARROW,
    WIDE,
    Canvas,
    ReportPicture,
    colour,
    hover,
    marker,
    write,
)
from saccade.analysis.report.power import ALPHA, seeds_for
from saccade.analysis.report.words import amount, counted

FEWEST = 5  # minimum number of seeds or tasks
SHOWN = 40  # maximum pairs in a table
GROUPS = 40  # maximum bars in a picture

_BAR, _LABEL = 0.14, 0.22  # inches per group's bar, and per variant's label
_LETTER = 0.078  # inches per letter
_ROUNDING = 1e-12  # relative difference below which values differ only by rounding

Scores = Float[np.ndarray, 'variants blocks']


@dataclass(frozen=True)
class VariantPair:
    """Pair of variants.

    Attributes: one and other, their indices in the order of mean ranks; p, the corrected p-value, None for a test by
    critical difference; real, a significant difference; needed, seeds or tasks that would make it significant.
    """

    one: int
    other: int
    real: bool
    p: float | None = None
    needed: int | None = None


@dataclass(frozen=True)
class Critical:
    """Significant differences among variants.

    Attributes: said, a summary sentence; over, 'seeds' or 'tasks'; variants, by mean rank, the best first; ranks,
    their mean ranks; pairs, all pairs; difference, the critical difference of mean ranks.
    """

    said: str
    over: str
    variants: Sequence[str] = ()
    ranks: Sequence[float] = ()
    pairs: Sequence[VariantPair] = ()
    difference: float | None = None

    @property
    def groups(self) -> list[list[int]] | None:
        """Maximal groups of at least two variants without significant differences, by their indices.

        None if there are more than GROUPS: their number can grow exponentially with the number of variants.
        """
        alike = {place: set() for place in range(len(self.variants))}
        for pair in self.pairs:
            if not pair.real:
                alike[pair.one].add(pair.other)
                alike[pair.other].add(pair.one)
        several = (sorted(group) for group in cliques(set(), set(alike), set(), alike) if len(group) > 1)
        found = [*islice(several, GROUPS + 1)]
        return sorted(found) if len(found) <= GROUPS else None

    def table(self) -> list[list[str]]:
        """Return the pairs without a significant difference, the nearest to significance first, and the data needed."""
        alike = sorted((pair for pair in self.pairs if not pair.real), key=_needed)[:SHOWN]
        if not alike:
            return []
        tested = any(pair.p is not None for pair in alike)
        rows = [
            [
                f'{self.variants[pair.one]} and {self.variants[pair.other]}',
                *([f'{pair.p:.2g}'] if tested else []),
                amount(pair.needed),
            ]
            for pair in alike
        ]
        return [['no significant difference', *(['p, corrected'] if tested else []), f'{self.over} needed'], *rows]

    def records(self) -> list[dict[str, str | bool | float | int | None]]:
        """Return every pair with full precision."""
        return [
            {
                'one': self.variants[pair.one],
                'other': self.variants[pair.other],
                'real': pair.real,
                'p': pair.p,
                f'{self.over}_needed': pair.needed,
            }
            for pair in self.pairs
        ]


def over_seeds(comparison: Comparison) -> Critical | None:
    """Test all pairs over the seeds of a sweep; None if fewer than two variants are ranked."""
    if len(comparison.ranked) < 2:
        return None
    seeds = sorted({trial.seed for trial in comparison.study.trials})
    complete = {row.variant: row.scores for row in comparison.ranked if len(row.scores) == len(seeds)}
    if len(seeds) < FEWEST or len(complete) < 2:
        have = f'{counted(len(seeds), "seed")}, finished by {len(complete)} of {len(comparison.standings)} variants'
        return Critical(f'Significance tests need {FEWEST} seeds shared by the variants, which have {have}.', 'seeds')
    scores = np.array([[found[seed] for seed in seeds] for found in complete.values()])
    order, ranks = _ranked(_signed(scores, comparison))
    names = [[*complete][place] for place in order]
    ones, others = np.triu_indices(len(names), k=1)
    scores = scores[order]
    corrected = holm(paired_t(scores[ones], scores[others]))
    # At the level of Holm's first step, which suffices for a pair regardless of the others.
    needed = seeds_for(effects(scores[ones], scores[others]), ALPHA / len(ones))
    pairs = [
        VariantPair(one, other, real=p <= ALPHA, p=p, needed=None if p <= ALPHA else seeds)
        for one, other, p, seeds in zip(ones.tolist(), others.tolist(), corrected, needed, strict=True)
    ]
    how = f"paired t-tests over {counted(len(seeds), 'seed')}, with Holm's correction at {ALPHA:.0%}"
    left = [row.variant for row in comparison.standings if row.variant not in complete]
    without = f' Left out, as not all their seeds finished: {", ".join(left)}.' if left else ''
    return Critical(f'{_found(pairs, names)} ({how}).{without}', 'seeds', names, ranks, pairs)


def over_tasks(scores: Mapping[str, Mapping[str, float]]) -> Critical:
    """Test all pairs over tasks.

    Args:
        scores: metric by variant and task; higher is better. Variants without a score in every task are left out.
    """
    tasks = {task for found in scores.values() for task in found}
    complete = {variant: found for variant, found in scores.items() if found.keys() == tasks}
    if len(tasks) < FEWEST or len(complete) < 3:
        have = f'{counted(len(tasks), "task")} and {counted(len(complete), "variant")} finished in all'
        return Critical(f'Significance tests need {FEWEST} tasks and 3 variants: there are {have}.', 'tasks')
    values = np.array([[-found[task] for task in sorted(tasks)] for found in complete.values()])
    order, ranks = _ranked(values)
    names = [[*complete][place] for place in order]
    p, difference = friedman(values), critical_difference(len(names), len(tasks))
    gaps = {(one, other): ranks[other] - ranks[one] for one, other in combinations(range(len(names)), 2)}
    pairs = [
        VariantPair(*places, real=p <= ALPHA and gap >= difference, needed=_tasks_needed(gap, difference, len(tasks)))
        for places, gap in gaps.items()
    ]
    test = f"Friedman's test over {counted(len(tasks), 'task')}"
    left = [variant for variant in scores if variant not in complete]
    without = f' Left out, as not all their seeds finished in all tasks: {", ".join(left)}.' if left else ''
    if p > ALPHA:
        said = f'No two variants differ significantly over all tasks ({test}, p = {p:.2g}).{without}'
        return Critical(said, 'tasks', names, ranks, pairs)
    how = f"{test}, p = {p:.2g}; Nemenyi's critical difference of mean ranks at {ALPHA:.0%} is {difference:.2f}"
    return Critical(f'{_found(pairs, names)} ({how}).{without}', 'tasks', names, ranks, pairs, difference)


def friedman(values: Scores) -> float:
    """Return the p of Friedman's test in the form of Iman and Davenport 1980; 1 if all are tied in every block."""
    from scipy import stats

    count, blocks = values.shape
    if not np.ptp(values, axis=0).any():
        return 1.0
    chi = float(stats.friedmanchisquare(*values).statistic)
    rest = blocks * (count - 1) - chi
    ratio = (blocks - 1) * chi / rest if rest > 1e-9 * chi else math.inf
    return float(stats.f.sf(ratio, count - 1, (count - 1) * (blocks - 1)))


def critical_difference(variants: int, blocks: int) -> float:
    """Return Nemenyi's critical difference of mean ranks at 5%."""
    from scipy import stats

    q = stats.studentized_range.ppf(1 - ALPHA, variants, math.inf) / math.sqrt(2)
    return float(q * math.sqrt(variants * (variants + 1) / (6 * blocks)))


def _found(pairs: Sequence[VariantPair], names: Sequence[str]) -> str:
    """Summarise the significant differences, and the variants that differ from the first in mean rank."""
    alike = [names[pair.other] for pair in pairs if pair.one == 0 and not pair.real]
    best = f'{names[0]}, the first in mean rank, differs from '
    if not alike:
        best += 'all others'
    elif len(alike) == len(names) - 1:
        best += 'none of the others'
    else:
        best += f'all except {", ".join(alike)}'
    return f'{sum(pair.real for pair in pairs)} of {counted(len(pairs), "pair")} differ significantly; {best}'


def _signed(scores: Scores, comparison: Comparison) -> Scores:
    return scores if comparison.best == 'lowest' else -scores


def _ranked(values: Scores) -> tuple[list[int], list[float]]:
    """Return the variants by mean rank, with lower values ranked first in a block, and their mean ranks."""
    from scipy import stats

    means = stats.rankdata(values, axis=0).mean(axis=1)
    order = np.argsort(means, kind='stable')
    return order.tolist(), means[order].tolist()


def paired_t(ones: Scores, others: Scores) -> Float[np.ndarray, 'variants']:
    """Return two-sided p-values of equal means, row by row; for constant differences 0, or 1 if they are zero."""
    from scipy import stats

    differences, size = ones - others, np.abs(ones).max(axis=-1)
    with np.errstate(divide='ignore', invalid='ignore'):
        t = differences.mean(axis=-1) / stats.sem(differences, axis=-1)
    p = 2 * stats.t.sf(np.abs(t), differences.shape[-1] - 1)
    p = np.where(np.ptp(differences, axis=-1) <= _ROUNDING * size, 0.0, p)
    return np.where(np.abs(differences).max(axis=-1) <= _ROUNDING * size, 1.0, p)


def effects(ones: Scores, others: Scores) -> Float[np.ndarray, 'variants']:
    """Return mean differences row by row, in standard deviations of the difference; 0 for constant differences."""
    differences = ones - others
    deviations = differences.std(axis=-1, ddof=1)
    return np.divide(np.abs(differences.mean(axis=-1)), deviations, out=np.zeros(len(ones)), where=deviations > 0)


def holm(ps: Sequence[float] | np.ndarray) -> list[float]:
    """Correct p-values: S. Holm 1979, A simple sequentially rejective multiple test procedure."""
    order = np.argsort(ps, kind='stable')
    stepped = np.minimum(np.array(ps)[order] * np.arange(len(ps), 0, -1), 1)
    return np.maximum.accumulate(stepped)[np.argsort(order)].tolist()


def _tasks_needed(gap: float, difference: float, tasks: int) -> int | None:
    """Return the tasks that make a gap of mean ranks critical; None if it is critical now, or zero."""
    return None if gap >= difference or gap <= 0 else math.ceil(tasks * (difference / gap) ** 2)


def _needed(pair: VariantPair) -> float:
    return math.inf if pair.needed is None else float(pair.needed)


def cliques(chosen: set[int], left: set[int], done: set[int], alike: Mapping[int, set[int]]) -> Iterator[set[int]]:
    """Yield maximal cliques: C. Bron and J. Kerbosch 1973, Algorithm 457, with the pivot of fewest branches."""
    if not left and not done:
        yield chosen
        return
    pivot = max(left | done, key=lambda place: len(alike[place] & left))
    for place in sorted(left - alike[pivot]):
        yield from cliques(chosen | {place}, left & alike[place], done & alike[place], alike)
        left, done = left - {place}, done | {place}


def picture_of_ranks(found: Critical, places: Mapping[str, int]) -> ReportPicture | None:
    """Draw mean ranks on a line, with a bar below each group without significant differences; None without ranks.

    Args:
        places: the number of each variant in its table, which also determines its colour.
    """
    if not found.variants:
        return None
    title = f'Mean ranks over {found.over}'
    found_groups, count = found.groups, len(found.variants)
    groups = found_groups or []
    numbers = [places[variant] for variant in found.variants]
    half, above = math.ceil(count / 2), 0.3 if found.difference is None else 0.75
    height = above + 0.1 + _BAR * len(groups) + _LABEL * (half + 0.5)

    def paint(axes: Axes, canvas: Canvas) -> None:
        called = [f'{number} {variant}' for number, variant in zip(numbers, found.variants, strict=True)]
        side = _LETTER * max(map(len, called)) + 0.1
        if side > canvas.width / 3:  # then only its number
            called, side = [str(number) for number in numbers], 0.3
        axes.get_figure().subplots_adjust(side / canvas.width, 0, 1 - side / canvas.width, 1)
        axes.set(xlim=(0.9, count + 0.1), ylim=(above - height, above))
        axes.axis('off')
        _paint_line(axes, found, count)
        for level, group in enumerate(groups, start=1):
            ranks = [found.ranks[place] for place in group]
            axes.plot([ranks[0], ranks[-1]], [-_BAR * level] * 2, color=INK, lw=2.5, solid_capstyle='round')
            axes.plot(ranks, [-_BAR * level] * len(ranks), 'o', color=INK, ms=4.5)
        for place, (rank, number, name) in enumerate(zip(found.ranks, numbers, called, strict=True)):
            first, shade = place < half, colour(number)
            y = -_BAR * (len(groups) + 0.5) - _LABEL * (1 + (place if first else count - 1 - place))
            edge, side = (0.9, 'right') if first else (count + 0.1, 'left')
            axes.plot([rank, rank, edge], [0, y, y], color=shade, lw=0.8, clip_on=False)
            hover(f'{name}: mean rank {rank:.2f}', *axes.plot([rank], [0], marker(number), color=shade, ms=6))
            write(axes, edge, y, f' {name} ', ha=side, va='center', color=shade, fontsize=9)

    canvases = [canvas.taller(height) for canvas in (NARROW, WIDE)]
    note = 'Dots on a bar are its variants.' if groups else ''
    if found_groups is None:
        note = f'There are more than {GROUPS} groups without significant differences; the table has the pairs.'
    return ReportPicture(title, 'critical', paint, canvases, note)


def _paint_line(axes: Axes, found: Critical, count: int) -> None:
    """Draw the line of ranks, and above it the length of the critical difference."""
    axes.plot([1, count], [0, 0], color=FAINT, lw=0.8)
    for tick in range(1, count + 1):
        axes.plot([tick, tick], [0, 0.05], color=FAINT, lw=0.8)
        write(axes, float(tick), 0.08, str(tick), ha='center', va='bottom', color=FAINT, fontsize=8.5)
    if found.difference is not None:
        axes.plot([1, 1 + found.difference], [0.4, 0.4], '|-', color=FAINT, lw=1.2, ms=6)
        said = f'critical difference {found.difference:.2f}'
        write(axes, 1.0, 0.47, said, va='bottom', color=FAINT, fontsize=8.5)
