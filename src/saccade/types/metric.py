# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Declaration of a metric: its name, best end, range and unit."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

Best = Literal['lowest', 'highest']

_F = TypeVar('_F', bound=Callable[..., Any])


@dataclass(frozen=True)
class Metric:
    """Declaration of a metric, made where the metric is computed and written to the folder of each run.

    Attributes:
        name: name in the log.
        best: best end of the range; None if neither end is better, as for a learning rate.
        low: least value; None for no bound.
        high: greatest value; None for no bound.
        unit: unit; empty for a share, or if the unit depends on the data.
        among: other rows on which the value of a row depends: '' for none, 'batch' for the rows of its batch, so the
            metric depends on `batch_size`, 'split' for the rows of the split, which `eval_batches` can truncate.
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


def difference(metric: Metric) -> Metric:
    """Return the declaration of the difference of two values of a metric, which lies within the length of its range."""
    if metric.low is None or metric.high is None:
        return replace(metric, low=None, high=None)
    most = metric.high - metric.low
    return replace(metric, low=-most, high=most)


def fraction(name: str, among: Literal['', 'batch', 'split'] = '') -> Metric:
    """Return the declaration of a share between 0 and 1 for which higher is better, such as an accuracy."""
    return Metric(name, 'highest', 0.0, 1.0, among=among)


def declares(*metrics: Metric) -> Callable[[_F], _F]:
    """Decorate a function with the declarations of the metrics that it returns, as its attribute `reports`."""

    def declare(function: _F) -> _F:
        function.reports = metrics  # type: ignore[attr-defined]
        return function

    return declare
