# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Tuning of each variant before the comparison: a search, for example over learning rates, with separate seeds.

    tune=dict(by={'schedule.peak': [3e-4, 1e-3, 3e-3, 1e-2]}, seeds=[100])
    tune=dict(by={...}, seeds=[100, 101], metric='accuracy', split='validation_256')
    tune=dict(by={...}, seeds=[100], halving=dict(steps=[250, 500, 1000], eta=2))
    tune=dict(by={'schedule.peak': [1e-3, 3e-3, 1e-2]}, seeds=[100, 101], extend=3)

Every variant is trained with each combination of the values. The best one, by the mean over these seeds, is compared on
the sweep's own seeds, so no variant is compared by the runs that selected its settings. Arora et al. 2023, "Zoology",
https://arxiv.org/abs/2312.04927, tune four rates for each; recurrent mixers learn recall only in a narrow window of
rates (Okpekpe, Orvieto 2025, https://arxiv.org/abs/2508.19029).

A setting with a failed or diverged seed is never chosen. A metric of your own that no part declares also needs `best`,
'lowest' or 'highest'.

`extend` tries one value more for a variant whose best value is the lowest or the highest: that value divided or
multiplied by this factor.

`halving` is successive halving (Jamieson, Talwalkar 2015, "Non-stochastic Best Arm Identification and Hyperparameter
Optimization", https://arxiv.org/abs/1502.07943): all settings are trained for few steps, the best 1/eta of each variant
(rounded up) for the next number of steps, and so on until one is left or the last number is reached. The paper
continues runs. Here each round trains from scratch with a schedule that ends with the round, since the learning rate of
a truncated run has not decayed. A setting that learns late may be dropped.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal

from saccade.sweep.naming import names
from saccade.sweep.space import Point, grid, significant
from saccade.types import UserError

_KEYS = ('by', 'seeds', 'halving', 'extend', 'metric', 'split', 'best')


@dataclass(frozen=True)
class Tune:
    """Search for the settings of each variant.

    Attributes:
        points: candidate settings, by name; last those beyond the edges.
        seeds: seeds of the search.
        metric, split, best: selection criterion; see `analysis.report.compare:StudyQuestion`.
        rungs: steps per run of each round; without halving a single round of None, the config's own steps.
        eta: a fraction 1 / eta of the settings goes on to the next round.
        beyond: for the settings at the edges, the name of the setting beyond; empty without `extend`.
    """

    points: Mapping[str, Point]
    seeds: tuple[int, ...]
    metric: str | None = None
    split: str = 'validation'
    best: Literal['lowest', 'highest'] | None = None
    rungs: tuple[int | None, ...] = (None,)
    eta: int = 2
    beyond: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, spec: Any, seeds: Sequence[int]) -> 'Tune':
        """Read `tune` of a sweep file.

        Args:
            seeds: seeds of the sweep, which the search must not use.

        Raises:
            UserError: `tune` has another form.
        """
        if not isinstance(spec, Mapping) or not {'by', 'seeds'} <= spec.keys() <= {*_KEYS}:
            raise UserError(f"tune: write dict(by={{'schedule.peak': [1e-3, 3e-3]}}, seeds=[100]), not {spec!r}")
        own = spec['seeds']
        if not are_seeds(own):
            raise UserError(f'tune.seeds: write a list of different whole numbers, not {own!r}')
        if shared := sorted({*own} & {*seeds}):
            raise UserError(f'tune.seeds: {shared[0]} is also a seed of the comparison; a search needs other seeds')
        if spec.get('best') not in (None, 'lowest', 'highest'):
            raise UserError(f"tune.best: must be 'lowest' or 'highest', not {spec['best']!r}")
        tried = grid(spec['by'], 'tune.by')
        if not tried:
            raise UserError('tune.by: it is empty; write a dict of fields and their values')
        rest = {key: spec[key] for key in ('metric', 'split', 'best') if key in spec} | _halving(spec.get('halving'))
        edges = _edges(spec, tried)
        found = names([*tried, *edges])
        if edges:
            low, high = found[len(tried) :]
            rest['beyond'] = {found[0]: low, found[len(tried) - 1]: high}
        return cls(dict(zip(found, [*tried, *edges], strict=True)), tuple(own), **rest)

    @property
    def fields(self) -> list[str]:
        """The tuned fields."""
        return [*next(iter(self.points.values()))]

    @property
    def first(self) -> list[str]:
        """Names of the settings that every variant tries."""
        return [name for name in self.points if name not in self.beyond.values()]

    def tried(self, variant: str, recorded: Collection[str], best: str | None = None) -> list[str]:
        """Return the names of the settings of a variant, in the order of their values.

        Args:
            recorded: variants of a search that has begun, which may have tried a setting beyond an edge.
            best: best setting of the variant, which may be at an edge.
        """
        low, high = self.beyond.values() or ('', '')
        more = {name for name in (low, high) if f'{variant},{name}' in recorded} | {self.beyond.get(best)}
        return [name for name in (low, *self.first, high) if name in more or name in self.first]

    @property
    def counts(self) -> dict[int | None, int]:
        """Number of settings per variant in each round, by its steps; rounds with a single setting left are skipped."""
        found, left = {}, len(self.first)
        for steps in self.rungs:
            if found and left == 1:
                break
            found[steps] = left
            left = self.kept(left)
        return found

    def kept(self, settings: int) -> int:
        """Return the number of settings that go on to the next round."""
        return math.ceil(settings / self.eta)


def are_seeds(value: Any) -> bool:
    """Return True for a list of one or more different whole numbers."""
    whole = isinstance(value, list | tuple) and all(type(seed) is int and seed >= 0 for seed in value)
    return whole and 0 < len({*value}) == len(value)


def _edges(spec: Mapping[str, Any], tried: Sequence[Point]) -> list[Point]:
    """Return the points beyond the lowest and the highest value, by `extend`; none without it."""
    factor = spec.get('extend')
    if factor is None:
        return []
    if isinstance(factor, bool) or not isinstance(factor, int | float) or not 1 < factor < math.inf:
        raise UserError(f'tune.extend: must be a number above 1, by which to extend an edge, not {factor!r}')
    if spec.get('halving') is not None:
        raise UserError('tune.extend: a search by halving has no edges to extend; leave one of them out')
    fields, values = [*tried[0]], [next(iter(point.values())) for point in tried]
    numbers = all(isinstance(value, int | float) and value > 0 for value in values)
    if len(fields) > 1 or len(values) < 2 or not numbers or any(one >= other for one, other in pairwise(values)):
        raise UserError(
            f'tune.extend: needs one field with increasing positive numbers, not {", ".join(fields)} with {values!r}'
        )
    return [{fields[0]: significant(value)} for value in (values[0] / factor, values[-1] * factor)]


def _halving(spec: Any) -> dict[str, Any]:
    """Read `halving` of `tune`."""
    if spec is None:
        return {}
    if not isinstance(spec, Mapping) or not {'steps'} <= spec.keys() <= {'steps', 'eta'}:
        raise UserError(f'tune.halving: write dict(steps=[250, 500, 1000], eta=2), not {spec!r}')
    steps, eta = spec['steps'], spec.get('eta', 2)
    whole = isinstance(steps, list | tuple) and steps and all(type(each) is int and each > 0 for each in steps)
    if not whole or any(before >= after for before, after in pairwise(steps)):
        raise UserError(f'tune.halving.steps: write an increasing list of whole numbers, not {steps!r}')
    if type(eta) is not int or eta < 2:
        raise UserError(f'tune.halving.eta: must be a whole number from 2 (1 in eta settings goes on), not {eta!r}')
    return {'rungs': tuple(steps), 'eta': eta}
