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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from saccade.analysis.report.compare import Comparison, bounded
from saccade.analysis.report.interval import Interval, Values, mean_intervals
from saccade.analysis.report.margin import JUDGED, verdicts
from saccade.analysis.report.tables import with_interval
from saccade.analysis.report.words import UNKNOWN
from saccade.types import difference

Cell = tuple[str, ...]  # a level of each factor
EFFECT = (
    'An effect is the metric at the level minus that at the first level of the factor, for each seed: the main effect '
    'as a mean over the levels of the other factors, and then within each of them. Means over seeds with 95% '
    'intervals, without a correction for their number.'
)


@dataclass(frozen=True)
class Effect:
    """Effect of a level, compared with the first level of its factor.

    Attributes:
        within: level of the other factor that the effect is measured in; None for the main effect.
        change: metric at the level minus metric at the first level, mean over seeds.
        interaction: change minus the main effect; None for the main effect.
        verdict: that of `margin` on the level against the first one; None without a margin.
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
    """Effects of the factors.

    Attributes: factors, their names; effects, main effects before those within levels; margin of the verdicts, None
    without verdicts.
    """

    factors: tuple[str, ...]
    effects: tuple[Effect, ...]
    margin: float | None = None

    def of(self, variant: str) -> Effect | None:
        """Return the effect of a variant's level of the first factor within its level of the other; None if unknown."""
        cell = (self.factors[0], *levels_of(variant))
        return next((each for each in self.effects if (each.factor, each.level, each.within) == cell), None)

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
    """Return the effects of the factors of a sweep; None without factors, or without two cells to compare.

    Only cells that finished all seeds are compared: the remaining seeds of another one are a biased sample.
    """
    factors = comparison.study.factors
    planned = dict.fromkeys(levels_of(trial.variant) for trial in comparison.study.trials)
    scores = {levels_of(row.variant): _values(row.scores) for row in comparison.ranked if row.complete}
    found = [
        effect
        for number, factor in enumerate(factors)
        for effect in _of(comparison, factor, _changes(number, [*planned], scores))
    ]
    return Effects(factors, tuple(found), comparison.margin) if found else None


def effect_words(found: Sequence[Effects]) -> str:
    """Return sentences on what an effect is, and on the verdicts if there are any."""
    margins = sorted({each.margin for each in found if each.margin is not None})
    if not margins:
        return EFFECT
    declared = ' or '.join(f'{margin:g}' for margin in margins)
    return f'{EFFECT} The margin, declared before the runs, is {declared}. {JUDGED}'


def levels_of(variant: str) -> Cell:
    """Return the level of each factor in the name of a variant."""
    return tuple(variant.split(','))


def _values(scores: Mapping[int, float]) -> Values:
    """Return the metric of each seed, in the order of the seeds, which all cells share."""
    return np.array([scores[seed] for seed in sorted(scores)])


def _changes(number: int, planned: Sequence[Cell], scores: Mapping[Cell, Values]) -> dict[str, dict[Cell, Values]]:
    """Return, for each level of a factor but the first, the change from the first by the levels of the other factors.

    Args:
        number: index of the factor.
        planned: all cells, in the order of the sweep.
    """
    first, *levels = dict.fromkeys(cell[number] for cell in planned)
    found: dict[str, dict[Cell, Values]] = {level: {} for level in levels}
    for cell in planned:
        before, after = cell[:number], cell[number + 1 :]
        base = (*before, first, *after)
        if cell[number] != first and cell in scores and base in scores:
            found[cell[number]][*before, *after] = scores[cell] - scores[base]
    return found


def _of(comparison: Comparison, factor: str, changes: Mapping[str, Mapping[Cell, Values]]) -> Iterator[Effect]:
    """Yield the effects of a factor's levels: the main effect, then, of two factors, that within each other level."""
    for level, by_others in changes.items():
        if not by_others:
            continue
        main = np.mean([*by_others.values()], axis=0)
        within = {others[0]: change for others, change in by_others.items() if len(others) == 1}
        values, apart = [main, *within.values()], [change - main for change in within.values()]
        change = difference(comparison.declared)
        spans = [bounded(change, span) for span in mean_intervals(values)]
        measured = zip(values, spans, verdicts(comparison, values), strict=True)
        (_, span, verdict), *rest = measured
        yield Effect(factor, level, None, float(main.mean()), span, None, None, len(main), verdict)
        spreads = [bounded(difference(change), spread) for spread in mean_intervals(apart)]
        parts = zip(within, rest, apart, spreads, strict=True)
        for other, (here, span, verdict), more, spread in parts:
            mean = float(here.mean())
            yield Effect(factor, level, other, mean, span, float(more.mean()), spread, len(here), verdict)
