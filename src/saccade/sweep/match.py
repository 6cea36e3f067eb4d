# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Matching of variants in size: find the width, or another field, for equal parameters or FLOPs.

    match=dict(what='parameters', by={'model.width': 8})
    match=dict(what='flops_per_token', by={'model.width': 32, 'model.block.feedforward.ratio': 0.01}, to=1e7)

`by` names the fields to solve, coarse ones first, each with its step: a width that must be divisible by 16 heads has
steps of 16, which are too coarse for 1%, and the feed-forward ratio then makes up the rest. `to` is the target; without
it, the figure of the base config.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from saccade.train.experiment import Experiment
from saccade.train.setup import ExperimentCost, parameters_of
from saccade.types import UserError

TOLERANCE = 0.01
FIGURES: Mapping[str, Callable[[Experiment], 'Number']] = {
    'parameters': parameters_of,
    'flops_per_token': lambda experiment: ExperimentCost.of(experiment).flops_per_token,
}

_DOUBLINGS = 24  # bound on the search, beyond the ratio of any two models

Number = int | float
Settings = dict[str, Number]
Measure = Callable[[Settings], Number]


@dataclass(frozen=True)
class Match:
    """Solver of fields for an equal number of parameters or FLOPs.

    Attributes: what, one of FIGURES; by, field -> step; to, the target, or None for the base's figure.
    """

    what: str
    by: Mapping[str, Number]
    to: Number | None = None

    @classmethod
    def of(cls, spec: Any) -> 'Match':
        """Read `match` of a sweep file.

        Raises:
            UserError: `match` has another form.
        """
        if not isinstance(spec, Mapping) or not {'what', 'by'} <= spec.keys() <= {'what', 'by', 'to'}:
            raise UserError(f"match: write dict(what='parameters', by={{'model.width': 8}}), not {spec!r}")
        if spec['what'] not in FIGURES:
            raise UserError(f"match.what: '{spec['what']}' is not one of {', '.join(FIGURES)}")
        if not isinstance(spec['by'], Mapping) or not spec['by']:
            raise UserError('match.by: write a dict of fields and their steps')
        for field, step in spec['by'].items():
            if not _positive(step):
                raise UserError(f'match.by.{field}: the step must be a positive number, not {step!r}')
        if spec.get('to') is not None and not _positive(spec['to']):
            raise UserError(f'match.to: must be a positive number, not {spec["to"]!r}')
        return cls(**spec)

    def solve(self, measure: Measure, start: Mapping[str, Number], target: Number) -> Settings:
        """Return field values at which the figure agrees with the target to 1%; empty if the config does already.

        Args:
            measure: returns the figure at given values of the fields.
            start: initial values of the fields.

        Raises:
            UserError: there are none; the message has the nearest.
        """
        settings: Settings = {}
        for field, step in self.by.items():
            if _off(measure(settings), target) <= TOLERANCE:
                break
            nearest = _Search(measure, settings, field, step).nearest(start[field], target)
            settings = {**settings, field: nearest}
        found = measure(settings)
        if _off(found, target) > TOLERANCE:
            shown = ', '.join(f'{field}={value}' for field, value in settings.items())
            raise UserError(
                f'match: no {" or ".join(self.by)} in these steps brings {self.what} within {TOLERANCE:.0%} of '
                f'{target:,.0f}; the nearest is {found:,.0f} at {shown}; add a finer field, or use smaller steps'
            )
        return settings


@dataclass(frozen=True)
class _Search:
    """Search for the value of one field, with the others fixed; `at` counts in steps of the field."""

    measure: Measure
    settings: Settings
    field: str
    step: Number

    def nearest(self, start: Number, target: Number) -> Number:
        """Return the value whose figure is nearest to the target; the figure grows with the field."""
        low, high = self._bracket(max(1, round(start / self.step)), target)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._figure(middle) <= target else (low, middle)
        return self._value(min((low, high), key=lambda at: _off(self._figure(at), target)))

    def _bracket(self, at: int, target: Number) -> tuple[int, int]:
        low = high = at
        for _ in range(_DOUBLINGS):
            if self._figure(low) > target and low > 1:
                low, high = low // 2, low
            elif self._figure(high) < target:
                low, high = high, 2 * high
            else:
                return low, high
        raise UserError(f'match: {self.field}={self._value(high)} is still far from {target:,.0f}: has it any effect?')

    def _figure(self, at: int) -> Number:
        return self.measure({**self.settings, self.field: self._value(at)})

    def _value(self, at: int) -> Number:
        return at * self.step if isinstance(self.step, int) else round(at * self.step, 10)


def _off(found: Number, target: Number) -> Number:
    return abs(found / target - 1)


def _positive(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0
