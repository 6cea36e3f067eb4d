# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Declaration of a metric: its name, which end of it is best, its range and its unit."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

Best = Literal['lowest', 'highest']

_F = TypeVar('_F', bound=Callable[..., Any])


@dataclass(frozen=True)
class Metric:
    """Declaration of a metric, made where the metric is computed and written to the folder of each run.

    Attributes:
        name: under which it is logged.
        best: end at which it is best; None where neither is better, as of a learning rate.
        low, high: least and greatest value; None for no bound.
        unit: empty for a share, and for what depends on the data.
        among: other rows that the value of a row depends on: '' for none, 'batch' for those of its batch, so that the
            metric depends on `batch_size`, 'split' for those of the whole split, which `eval_batches` may cut short.
    """

    name: str
    best: Best | None
    low: float | None = None
    high: float | None = None
    unit: str = ''
    among: Literal['', 'batch', 'split'] = ''

    def prefixed(self, prefix: str) -> 'Metric':
        """Return the declaration of the same metric under PREFIX_NAME."""
        return replace(self, name=f'{prefix}_{self.name}')

    def suffixed(self, suffix: str) -> 'Metric':
        """Return the declaration of the same metric under NAME_SUFFIX."""
        return replace(self, name=f'{self.name}_{suffix}')


def fraction(name: str, among: Literal['', 'batch', 'split'] = '') -> Metric:
    """Return the declaration of a share of 1 that is best where it is highest, as an accuracy."""
    return Metric(name, 'highest', 0.0, 1.0, among=among)


def declares(*metrics: Metric) -> Callable[[_F], _F]:
    """Decorate a function with the declarations of the metrics that it returns, as its attribute `reports`."""

    def declare(function: _F) -> _F:
        function.reports = metrics  # type: ignore[attr-defined]
        return function

    return declare
