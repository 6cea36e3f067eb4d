# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Bootstrap intervals (95%, BCa: bias-corrected and accelerated) of a metric over the examples of a split.

    ends = quantiles of θ* at Φ(z0 + u / (1 - a u)),   u = z0 + Φ⁻¹(0.025), z0 + Φ⁻¹(0.975)
    z0 = Φ⁻¹(P(θ* < θ) + P(θ* = θ) / 2),   a = Σ d³ / (6 (Σ d²)^1.5)

θ is the metric, θ* the metric of a resample of the same size drawn with replacement, d the mean of the leave-one-out
values of θ minus each of them. B. Efron, 1987, Better bootstrap confidence intervals,
https://doi.org/10.1080/01621459.1987.10478410.

The interval covers the choice of examples in the split, not the choice of training seeds; for seeds see
`analysis.report.interval`. It knows only the variation within the split: where all examples agree, for example where
all are right, the interval is a point.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Num
from scipy.special import ndtr, ndtri

from saccade.types import UserError

LEVEL = 0.95
RESAMPLES = 2000

_NORMAL_ENDS = ndtri([(1 - LEVEL) / 2, (1 + LEVEL) / 2])
_ROUNDING = 1e-12  # relative difference below which two values of a metric are equal up to the order of summation
_MOST_DRAWN = 1 << 20  # numbers at once: 8 MiB
_MOST_LEFT_OUT = 500  # leave-one-out evaluations of a metric without sums, for the acceleration, a small correction

Sums = Num[np.ndarray, '... terms']
Number = Num[np.ndarray, '...'] | np.number
Statistic = Callable[[Sums], Number]


@dataclass(frozen=True)
class MetricInterval:
    """Metric of a split with the ends of its 95% interval, which contains the value."""

    value: float
    low: float
    high: float


def of_sums(contributions: Num[np.ndarray, 'examples terms'], statistic: Statistic, seed: int = 0) -> MetricInterval:
    """Measure a function of sums over examples.

    Args:
        statistic: maps sums [... terms] to the metric [...]; finite for the sums of any resample.

    Raises:
        UserError: there are no examples.
    """
    _require_examples(contributions)
    # Equal rows are drawn together, only to save time: counts have few distinct rows.
    rows, counts = np.unique(contributions.astype(np.float64), axis=0, return_counts=True)
    generator = np.random.default_rng(seed)
    total = counts @ rows
    value = float(statistic(total))
    if len(contributions) == 1 or not np.isfinite(value):
        return MetricInterval(value, value, value)
    shares, at_once = counts / len(contributions), max(1, _MOST_DRAWN // len(rows))
    drawn = [statistic(generator.multinomial(len(contributions), shares, size) @ rows) for size in block_sizes(at_once)]
    return _interval(value, np.concatenate(drawn), _acceleration(statistic(total - rows), counts))


def of_mean(values: Num[np.ndarray, 'examples'], seed: int = 0) -> MetricInterval:
    """Measure a mean over examples.

    Raises:
        UserError: there are no examples.
    """
    contributions = np.stack([values, np.ones(len(values))], axis=-1)
    return of_sums(contributions, lambda sums: ratio(sums[..., 0], sums[..., 1]), seed)


def of_examples(examples: Num[np.ndarray, 'examples terms'], statistic: Statistic, seed: int = 0) -> MetricInterval:
    """Measure a metric that is not a function of sums, such as a rank correlation, by evaluation on each resample.

    Args:
        statistic: maps any number of examples [... examples terms] to the metric [...]; finite for any resample.

    Raises:
        UserError: there are no examples.
    """
    _require_examples(examples)
    value, count = float(statistic(examples)), len(examples)
    if count == 1 or not np.isfinite(value):
        return MetricInterval(value, value, value)
    generator = np.random.default_rng(seed)
    at_once = max(1, _MOST_DRAWN // examples.size)
    drawn = [statistic(examples[generator.integers(count, size=(size, count))]) for size in block_sizes(at_once)]
    # Leave out one example at a time; of many, groups of examples, shuffled since neighbours are alike.
    groups = np.array_split(generator.permutation(count), min(count, _MOST_LEFT_OUT))
    left_out = [statistic(np.delete(examples, group, axis=0)) for group in groups]
    return _interval(value, np.concatenate(drawn), _acceleration(np.array(left_out), np.ones(len(left_out))))


def ratio(part: Number, whole: Number) -> np.ndarray:
    """Return part / whole, and 0 where the whole is 0: a resample may contain none of the counted items."""
    return np.divide(part, whole, out=np.zeros(np.shape(whole)), where=np.not_equal(whole, 0))


def _require_examples(examples: np.ndarray) -> None:
    if not len(examples):
        raise UserError('there are no examples to measure')


def block_sizes(at_once: int) -> Iterator[int]:
    """Yield the number of resamples to draw in each block."""
    for start in range(0, RESAMPLES, at_once):
        yield min(at_once, RESAMPLES - start)


def _acceleration(left_out: Num[np.ndarray, 'rows'], counts: Num[np.ndarray, 'rows']) -> float:
    losses = np.average(left_out, weights=counts) - left_out
    return float(ratio(counts @ losses**3, 6 * (counts @ losses**2) ** 1.5))


def _interval(value: float, drawn: Num[np.ndarray, 'resamples'], acceleration: float) -> MetricInterval:
    ties = np.isclose(drawn, value, rtol=_ROUNDING, atol=0)
    below = np.where(ties, 0.5, drawn < value).mean()
    bias = ndtri(np.clip(below, 0.5 / RESAMPLES, 1 - 0.5 / RESAMPLES))
    shifted = bias + _NORMAL_ENDS
    low, high = np.quantile(drawn, ndtr(bias + shifted / (1 - acceleration * shifted)))
    return MetricInterval(value, float(np.minimum(low, value)), float(np.maximum(high, value)))
