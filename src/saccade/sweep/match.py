# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Matching of variants in size: find the width, or another field, at which parameters or FLOPs are equal.

    match=dict(what='parameters', by={'model.width': 8})
    match=dict(what='flops_per_token', by={'model.width': 32, 'model.block.feedforward.ratio': 0.01}, to=1e7)

`by` names the fields to solve, coarse ones first, each with the step that it may take: a width that must divide by
16 heads takes steps of 16, which are too coarse to agree to 1%, and the feed-forward ratio makes up for the rest.
`to` is a number; without it the figure of the config as it is.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from saccade.types import UserError

TOLERANCE = 0.01
FIGURES = ('parameters', 'flops_per_token')

_DOUBLINGS = 24  # more than separates any two models

Number = int | float
Settings = dict[str, Number]
Measure = Callable[[Settings], Number]


@dataclass(frozen=True)
class Match:
    """Solver of fields for an equal number of parameters or FLOPs.

    Attributes: what, one of FIGURES; by, field -> step; to, the figure, or None for the base's.
    """

    what: str
    by: Mapping[str, Number]
    to: Number | None = None

    @classmethod
    def of(cls, spec: Any) -> 'Match':
        """Read what stands under `match` in a sweep.

        Raises:
            UserError: it is not as above.
        """
        if not isinstance(spec, Mapping) or not {'what', 'by'} <= spec.keys() <= {'what', 'by', 'to'}:
            raise UserError(f"match: write dict(what='parameters', by={{'model.width': 8}}), not {spec!r}")
        if spec['what'] not in FIGURES:
            raise UserError(f"match.what: '{spec['what']}' is none of {', '.join(FIGURES)}")
        if not isinstance(spec['by'], Mapping) or not spec['by']:
            raise UserError('match.by: write a dict of fields and their steps')
        for field, step in spec['by'].items():
            if not _positive(step):
                raise UserError(f'match.by.{field}: the step must be a positive number, not {step!r}')
        if spec.get('to') is not None and not _positive(spec['to']):
            raise UserError(f'match.to: must be a positive number, not {spec["to"]!r}')
        return cls(**spec)

    def solve(self, measure: Measure, start: Mapping[str, Number], target: Number) -> Settings:
        """Return the fields' values at which the figure agrees with the target to 1%, nothing if it does already.

        Args:
            measure: the figure at given values of the fields.
            start: the fields' values to begin from.

        Raises:
            UserError: there are none; the nearest is shown.
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
                f'{target:,.0f}; nearest is {found:,.0f} at {shown}; add a finer field, or take smaller steps'
            )
        return settings


@dataclass(frozen=True)
class _Search:
    """Search for the value of one field, the others held; `at` counts in steps of the field."""

    measure: Measure
    settings: Settings
    field: str
    step: Number

    def nearest(self, start: Number, target: Number) -> Number:
        """Return the value at which the figure, which grows with the field, is nearest to the target."""
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
        raise UserError(f'match: {self.field}={self._value(high)} is still far from {target:,.0f}: does it matter?')

    def _figure(self, at: int) -> Number:
        return self.measure({**self.settings, self.field: self._value(at)})

    def _value(self, at: int) -> Number:
        return at * self.step if isinstance(self.step, int) else round(at * self.step, 10)


def _off(found: Number, target: Number) -> Number:
    return abs(found / target - 1)


def _positive(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0
