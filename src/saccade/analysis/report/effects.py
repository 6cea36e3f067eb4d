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
from saccade.analysis.report.margin import JUDGED, Judgement, judgements
from saccade.analysis.report.tables import with_interval
from saccade.types import difference

Cell = tuple[str, ...]  # a level of each factor
EFFECT = (
    'An effect is the metric at the level minus that at the first level of the factor, for each seed: the main effect '
    'as a mean over the levels of the other factors, and then within each of them. Means over seeds with 95% '
    'intervals, without a correction for their number.'
)
BOUNDED = (
    'The one-sided bounds decide the verdict. They are closer than the 95% interval, so a verdict may go with an '
    'interval that includes zero.'
)


@dataclass(frozen=True)
class Effect:
    """Effect of a level, compared with the first level of its factor.

    Attributes:
        within: level of the other factor that the effect is measured in; None for the main effect.
        change: metric at the level minus metric at the first level, mean over seeds.
        interaction: change minus the main effect; None for the main effect, and without one.
        seeds: number of seeds.
        judged: bounds and verdict of `margin` on the level against the first one; None without a margin.
    """

    factor: str
    level: str
    within: str | None
    change: float
    interval: Interval | None
    interaction: float | None
    interaction_interval: Interval | None
    seeds: int
    judged: Judgement | None = None

    @property
    def verdict(self) -> str | None:
        """Verdict on the level against the first one; None without a margin."""
        return self.judged and self.judged.verdict


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
        judged = any(effect.judged for effect in self.effects)
        heads = ['factor', 'level', 'within', 'effect', 'interaction: effect minus the main effect', 'seeds']
        rows = [
            [
                effect.factor,
                effect.level,
                effect.within or 'all',
                with_interval(effect.change, effect.interval, digits, sign=True),
                with_interval(effect.interaction, effect.interaction_interval, digits, sign=True),
                str(effect.seeds),
                *(effect.judged.texts(digits) if judged else []),
            ]
            for effect in self.effects
        ]
        return [[*heads, *(['one-sided 95% bounds', 'verdict'] if judged else [])], *rows]


def effects(comparison: Comparison) -> Effects | None:
    """Return the effects of the factors of a sweep; None without factors, or without two cells to compare.

    Only cells that finished all seeds are compared: the remaining seeds of another one are a biased sample. A level has
    a main effect, and interactions, only if all its planned cells are compared.
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
    return f'{EFFECT} The margin, declared before the runs, is {declared}. {JUDGED} {BOUNDED}'


def levels_of(variant: str) -> Cell:
    """Return the level of each factor in the name of a variant."""
    return tuple(variant.split(','))


def _values(scores: Mapping[int, float]) -> Values:
    """Return the metric of each seed, in the order of the seeds, which all cells share."""
    return np.array([scores[seed] for seed in sorted(scores)])


def _changes(
    number: int, planned: Sequence[Cell], scores: Mapping[Cell, Values]
) -> dict[str, dict[Cell, Values | None]]:
    """Return, for each level of a factor but the first, the change from the first by the levels of the other factors.

    Args:
        number: index of the factor.
        planned: all cells, in the order of the sweep; a change between cells that have not finished is None.
    """
    first, *levels = dict.fromkeys(cell[number] for cell in planned)
    found: dict[str, dict[Cell, Values | None]] = {level: {} for level in levels}
    for cell in planned:
        before, after = cell[:number], cell[number + 1 :]
        base = (*before, first, *after)
        if cell[number] != first and base in planned:
            known = cell in scores and base in scores
            found[cell[number]][*before, *after] = scores[cell] - scores[base] if known else None
    return found


def _of(comparison: Comparison, factor: str, changes: Mapping[str, Mapping[Cell, Values | None]]) -> Iterator[Effect]:
    """Yield the effects of a factor's levels: the main effect, then, of two factors, that within each other level."""
    for level, by_others in changes.items():
        known = {others: change for others, change in by_others.items() if change is not None}
        within = {others[0]: change for others, change in known.items() if len(others) == 1}
        apart: dict[str, Values] = {}
        values: dict[str | None, Values] = {**within}
        if known and len(known) == len(by_others):
            main = np.mean([*known.values()], axis=0)
            apart = {other: change - main for other, change in within.items()}
            values = {None: main, **within}
        change = difference(comparison.declared)
        spreads = dict(zip(apart, mean_intervals([*apart.values()]), strict=True))
        measured = mean_intervals([*values.values()]), judgements(comparison, [*values.values()])
        for (place, value), span, judged in zip(values.items(), *measured, strict=True):
            interaction = float(apart[place].mean()) if place in apart else None
            spread = bounded(difference(change), spreads.get(place))
            mean, span = float(value.mean()), bounded(change, span)
            yield Effect(factor, level, place, mean, span, interaction, spread, len(value), judged)
