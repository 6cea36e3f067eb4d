# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Main effects and interactions of the factors of a sweep, with 95% intervals over seeds.

A sweep crosses factors with a product of spaces, whose points have names: the variant `attention,on` has the level
`attention` of the first factor and `on` of the second.

    main effect of a level        mean over the other factors of y(level) - y(first level)
    effect within a level f       y(f, level) - y(f, first level)
    interaction at f              effect within f - main effect

Each is computed for every seed, so that luck that the cells of a seed share cancels; the interval is that of its mean
over seeds. With a margin, each has the verdict of `margin`. R. Fisher 1935, The Design of Experiments, chapter VI.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from saccade.analysis.report.compare import Comparison
from saccade.analysis.report.interval import Interval, mean_intervals
from saccade.analysis.report.margin import FEWEST, LEVEL, verdict_of
from saccade.analysis.report.tables import with_interval
from saccade.analysis.report.words import UNKNOWN

Cell = tuple[str, ...]  # a level of each factor
BySeed = dict[int, float]


@dataclass(frozen=True)
class Effect:
    """Effect of a level, compared with the first level of its factor.

    Attributes:
        within: level of the other factor that the effect is measured in; None for the main effect.
        change: metric at the level minus metric at the first level, mean over seeds.
        interaction: change minus the main effect; None for the main effect.
        verdict: of a sweep with a margin: whether the level is not worse than the first one; None without a margin.
        seeds: number of seeds.
    """

    factor: str
    level: str
    within: str | None
    change: float
    interval: Interval | None
    interaction: float | None
    interaction_interval: Interval | None
    seeds: int
    verdict: str | None = None


@dataclass(frozen=True)
class Effects:
    """Effects of the factors. Attributes: factors, their names; effects, main effects before those within levels."""

    factors: tuple[str, ...]
    effects: tuple[Effect, ...]

    def table(self, digits: int) -> list[list[str]]:
        """Return the effects as text, below the names of the columns."""
        judged = any(effect.verdict for effect in self.effects)
        heads = ['factor', 'level', 'within', 'effect', 'interaction: effect minus the main effect', 'seeds']
        rows = [
            [
                effect.factor,
                effect.level,
                effect.within or 'all',
                with_interval(effect.change, effect.interval, digits, sign=True),
                with_interval(effect.interaction, effect.interaction_interval, digits, sign=True),
                str(effect.seeds),
                *([effect.verdict or UNKNOWN] if judged else []),
            ]
            for effect in self.effects
        ]
        return [[*heads, *(['verdict'] if judged else [])], *rows]


def effects(comparison: Comparison) -> Effects | None:
    """Return the effects of the factors of a sweep; None without factors, or without a cell to compare."""
    factors = comparison.study.factors
    scores = {row.variant: dict(row.scores) for row in comparison.ranked}
    planned = dict.fromkeys(trial.variant for trial in comparison.study.trials)  # the first level is the sweep's first
    cells = {tuple(variant.split(',')): scores[variant] for variant in planned if variant in scores}
    found = [effect for number in range(len(factors)) for effect in _of(comparison, number, cells)]
    return Effects(factors, tuple(found)) if found else None


def _of(comparison: Comparison, number: int, cells: Mapping[Cell, BySeed]) -> Iterator[Effect]:
    """Yield the effects of a factor's levels: the main effect, then, of two factors, that within each other level."""
    factors = comparison.study.factors
    first, *levels = dict.fromkeys(cell[number] for cell in cells)
    for level in levels:
        changes = {
            (*cell[:number], *cell[number + 1 :]): _difference(cells[cell], base)
            for cell in cells
            if cell[number] == level and (base := cells.get((*cell[:number], first, *cell[number + 1 :])))
        }
        changes = {others: change for others, change in changes.items() if change}
        if not changes:
            continue
        main = _mean(list(changes.values()))
        within = {others[0]: change for others, change in changes.items()} if len(factors) == 2 else {}
        apart = {other: _difference(change, main) for other, change in within.items()}
        spans = mean_intervals([[*each.values()] for each in (main, *within.values())])
        spread = mean_intervals([[*each.values()] for each in apart.values()])
        verdicts = _verdicts(comparison, [main, *within.values()])
        yield Effect(factors[number], level, None, _average(main), spans[0], None, None, len(main), verdicts[0])
        parts = zip(within.items(), spans[1:], spread, verdicts[1:], strict=True)
        for (other, change), span, interaction, verdict in parts:
            mean = _average(apart[other])
            yield Effect(factors[number], level, other, _average(change), span, mean, interaction, len(change), verdict)


def _verdicts(comparison: Comparison, changes: Sequence[BySeed]) -> list[str | None]:
    """Return the verdict on each change; none without a margin, or with too few seeds."""
    if comparison.loss is None:
        return [None] * len(changes)
    bounds = mean_intervals([[*each.values()] for each in changes], 2 * LEVEL - 1)
    exact = [Interval(_average(each), _average(each)) for each in changes]  # of seeds with equal changes
    return [
        verdict_of(span or value, comparison.loss) if len(each) >= FEWEST else 'inconclusive'
        for each, span, value in zip(changes, bounds, exact, strict=True)
    ]


def _difference(left: BySeed, right: BySeed) -> BySeed:
    return {seed: left[seed] - right[seed] for seed in left if seed in right}


def _mean(changes: Sequence[BySeed]) -> BySeed:
    """Return the mean over cells, for the seeds that all of them have."""
    seeds = [seed for seed in changes[0] if all(seed in change for change in changes)]
    return {seed: _average({at: change[seed] for at, change in enumerate(changes)}) for seed in seeds}


def _average(values: Mapping[int, float]) -> float:
    return math.fsum(values.values()) / len(values) if values else math.nan
