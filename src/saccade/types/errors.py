# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""User errors, and checks that raise them."""

import math
from dataclasses import dataclass
from typing import Annotated, Any


class UserError(Exception):
    """Error that the user can correct. Launchers print its one-line message and exit with status 2."""


@dataclass(frozen=True)
class Range:
    """Range of a numeric field, in its annotation: `build` raises an error for numbers outside the range and for NaN.

        dropout: Annotated[float, Range(least=0, below=1)] = 0.0

    Attributes: bounds: inclusive `least` and `most`, exclusive `above` and `below`.
    """

    least: int | float = -math.inf
    above: int | float = -math.inf
    most: int | float = math.inf
    below: int | float = math.inf

    def __contains__(self, value: int | float) -> bool:
        return self.least <= value <= self.most and self.above < value < self.below

    def __str__(self) -> str:
        bounds = {'at least': self.least, 'above': self.above, 'at most': self.most, 'below': self.below}
        return ' and '.join(f'{words} {bound}' for words, bound in bounds.items() if math.isfinite(bound))


Count = Annotated[int, Range(least=1)]
CountOrZero = Annotated[int, Range(least=0)]
Positive = Annotated[float, Range(above=0)]
NotNegative = Annotated[float, Range(least=0)]
Share = Annotated[float, Range(least=0, below=1)]  # a dropout rate, a decay, a label smoothing
Probability = Annotated[float, Range(least=0, most=1)]
HeldOut = Annotated[float, Range(above=0, most=1)]  # fraction for validation; with 1 all are for training too


def require_positive(part: str, **values: int) -> None:
    """Check that sizes are at least 1.

    Raises:
        UserError: one is not; the message names its field.
    """
    for name, value in values.items():
        if value < 1:
            raise UserError(f'{part}: {name} must be at least 1, not {value}')


def require_share(part: str, **values: Any) -> None:
    """Check that dropout rates or other shares are at least 0 and below 1, but for those that are traced.

    Raises:
        UserError: one is not; the message names its field.
    """
    for name, value in values.items():
        if isinstance(value, int | float) and not 0 <= value < 1:
            raise UserError(f'{part}: {name} must be at least 0 and below 1, not {value}')
