# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Tuning of each variant before it is compared: a search over learning rates, say, on seeds of its own.

    tune=dict(by={'schedule.peak': [3e-4, 1e-3, 3e-3, 1e-2]}, seeds=[100])
    tune=dict(by={...}, seeds=[100, 101], metric='accuracy', split='validation_256')
    tune=dict(by={...}, seeds=[100], halving=dict(steps=[250, 500, 1000], eta=2))

Every variant is trained with each combination of the values. The best of them, by the mean over these seeds, is what it
is compared with on the sweep's own seeds, so that no variant is compared by the runs that it was chosen by. Arora et
al. 2023, "Zoology", https://arxiv.org/abs/2312.04927, tune four rates for each; recurrent mixers learn recall in a
narrow window of rates alone (Okpekpe, Orvieto 2025, https://arxiv.org/abs/2508.19029).

A setting of which a seed failed or diverged is never chosen. A metric of one's own that no part declares needs `best`,
'lowest' or 'highest', too.

With `halving` it is successive halving (Jamieson, Talwalkar 2015, "Non-stochastic Best Arm Identification and
Hyperparameter Optimization", https://arxiv.org/abs/1502.07943): all settings are trained for few steps, the best 1/eta
of each variant's, rounded up, for the next number of steps, and so on until one is left or the steps are through. The
paper goes on with a run where it was. Here each round trains anew, and its schedule ends with the round, because a run
that is cut short has a rate that has not fallen yet. A setting that learns late may be dropped.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from saccade.sweep.naming import names
from saccade.sweep.space import Point, grid
from saccade.types import UserError

_KEYS = ('by', 'seeds', 'halving', 'metric', 'split', 'best')


@dataclass(frozen=True)
class Tune:
    """Search for the settings of each variant.

    Attributes:
        points: the settings that are tried, by their names.
        seeds: of the search alone.
        metric, split, best: by what they are chosen; see `analysis.report.compare:Question`.
        rungs: steps of the runs of each round; one round of None, the config's own, without halving.
        eta: one in so many settings goes on to the next round.
    """

    points: Mapping[str, Point]
    seeds: tuple[int, ...]
    metric: str | None = None
    split: str = 'validation'
    best: Literal['lowest', 'highest'] | None = None
    rungs: tuple[int | None, ...] = (None,)
    eta: int = 2

    @classmethod
    def of(cls, spec: Any, seeds: Sequence[int]) -> 'Tune':
        """Read what stands under `tune` in a sweep.

        Args:
            seeds: of the sweep, which the search may not use.

        Raises:
            UserError: it is not as above.
        """
        if not isinstance(spec, Mapping) or not {'by', 'seeds'} <= spec.keys() <= {*_KEYS}:
            raise UserError(f"tune: write dict(by={{'schedule.peak': [1e-3, 3e-3]}}, seeds=[100]), not {spec!r}")
        own = spec['seeds']
        whole = isinstance(own, list | tuple) and own and all(type(seed) is int and seed >= 0 for seed in own)
        if not whole or len({*own}) < len(own):
            raise UserError(f'tune.seeds: write a list of different whole numbers, not {own!r}')
        if shared := sorted({*own} & {*seeds}):
            raise UserError(f'tune.seeds: {shared[0]} is a seed of the comparison too; a search has seeds of its own')
        if spec.get('best') not in (None, 'lowest', 'highest'):
            raise UserError(f"tune.best: must be 'lowest' or 'highest', not {spec['best']!r}")
        tried = grid(spec['by'], 'tune.by')
        if not tried:
            raise UserError('tune.by: it is empty; write a dict of fields and their values')
        rest = {key: spec[key] for key in _KEYS[3:] if key in spec} | _halving(spec.get('halving'))
        return cls(dict(zip(names(tried), tried, strict=True)), tuple(own), **rest)

    @property
    def fields(self) -> list[str]:
        """What is tuned."""
        return [*next(iter(self.points.values()))]

    @property
    def counts(self) -> dict[int | None, int]:
        """How many settings of a variant each round trains, by its steps; rounds with one left are not trained."""
        found, left = {}, len(self.points)
        for steps in self.rungs:
            if found and left == 1:
                break
            found[steps] = left
            left = self.kept(left)
        return found

    def kept(self, settings: int) -> int:
        """How many of some settings go on to the next round."""
        return math.ceil(settings / self.eta)


def _halving(spec: Any) -> dict[str, Any]:
    """Read what stands under `halving`."""
    if spec is None:
        return {}
    if not isinstance(spec, Mapping) or not {'steps'} <= spec.keys() <= {'steps', 'eta'}:
        raise UserError(f'tune.halving: write dict(steps=[250, 500, 1000], eta=2), not {spec!r}')
    steps, eta = spec['steps'], spec.get('eta', 2)
    whole = isinstance(steps, list | tuple) and steps and all(type(each) is int and each > 0 for each in steps)
    if not whole or any(before >= after for before, after in pairwise(steps)):
        raise UserError(f'tune.halving.steps: write a rising list of whole numbers, not {steps!r}')
    if type(eta) is not int or eta < 2:
        raise UserError(f'tune.halving.eta: one in eta settings goes on: a whole number from 2, not {eta!r}')
    return {'rungs': tuple(steps), 'eta': eta}
