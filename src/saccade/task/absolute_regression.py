# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Absolute regression: predict a number; the loss is the mean absolute error, in the unit of the values.

    loss = mean over rows of |prediction - value|

Its minimum is the median of the values of alike rows, and a far value pulls no more than a near one. Lee et al. 2019,
"Set Transformer", section 5.1, https://arxiv.org/abs/1810.00825, predict the maximum of a set by it.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np

from saccade.metric.correlation import correlated
from saccade.task.base import Forward
from saccade.task.regression import Regression, errors_of
from saccade.types import Batch, Total

__all__ = ['AbsoluteRegression', 'median']


@dataclass(frozen=True)
class AbsoluteRegression(Regression):
    """Absolute regression with the head 'pooled', which has one class."""

    bare: ClassVar[str] = 'absolute_error'

    def totals(self, forward: Forward, batch: Batch) -> dict[str, Total]:
        """Return totals over rows: `loss` in the values' unit."""
        errors, count = errors_of(self.predicted(forward, batch), batch['value'])
        return {'loss': Total(jnp.abs(errors).sum(), count)}


def median(train: Any, validation: Any, vocabulary: int | None, /) -> dict[str, float]:
    """Return metrics of a baseline that says the median of the training values for every row."""
    values, predicted = validation.answers, np.full(len(validation.answers), np.median(train.answers))
    measured = {name: each.value for name, each in correlated(values, predicted).items()}
    return {'loss': float(np.abs(values - predicted).mean()), **measured}
