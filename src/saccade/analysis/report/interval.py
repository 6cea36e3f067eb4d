# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""95% intervals over seeds: bootstrap-t intervals of a variant's mean, and of its difference to another variant.

With three seeds a percentile bootstrap covers the truth 75% of the time. Here the mean is studentised: each
variant has its own scale, t* = mean* / (s* / sqrt(n)), and the quantiles of t* are bootstrapped from the
residuals of all variants, each divided by its variant's standard deviation and times sqrt(n / (n - 1)), so that
variants share the shape of the noise and not its scale. Few residuals are too coarse to draw from (three equal
draws have no deviation), so normal noise is added to each draw, with Silverman's bandwidth for their number: with fewer
residuals the result is closer to Student's t, and without residuals it is Student's t. (Two seeds always have residuals
of +1 and -1, which carry no information and are left out.)

What is claimed: an interval holds the true mean, or the true difference of two variants named beforehand, in 95 of
100 studies. `python -m benchmarks.coverage` measures it over 2 to 9 variants and 3 to 10 seeds, with
equal and unequal variances, with and without a seed's luck that the variants share: 94 to 97 for normal and
heavy-tailed noise, 92 to 97 for skewed noise (gamma of shape 2), and for exponential noise 88 to 94 for means and 89
to 97 for differences, because few seeds seldom show its tail. A variant selected as the best by the same numbers was
also lucky: differences to it are overestimated, and their intervals contain the truth in 88 to 96 of 100 studies
of normal noise and in 81 to 98 of exponential noise, less often with more variants and seeds. There is no
correction for this selection, nor for multiple comparisons.

B. Efron 1981, Nonparametric standard errors and confidence intervals; B. Silverman and G. Young 1987, The bootstrap:
to smooth or not to smooth?
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

LEVEL = 0.95
DRAWS = 200_000  # gives quantiles within 1% of their limit
FEWEST = 3  # minimum seeds of a variant whose residuals are pooled

_ROUNDING = 1e-12  # relative spread below which values differ only by rounding

Values = Float[np.ndarray, '... n']


@dataclass(frozen=True)
class Interval:
    """Closed confidence interval. Attributes: low; high."""

    low: float
    high: float

    def holds(self, value: float) -> bool:
        """Return True if the interval contains a value."""
        return self.low <= value <= self.high


def mean_intervals(groups: Sequence[Sequence[float] | Values], level: float = LEVEL) -> list[Interval | None]:
    """Return the interval of each group's mean; None for one value, or for equal values.

    Args:
        level: two-sided level of the intervals.
    """
    from scipy import stats

    values = [np.sort(np.asarray(group, np.float64)) for group in groups]
    residuals = [standard_residuals(group) for group in values if len(group) >= FEWEST and _spreads(group)]
    pool = np.sort(np.concatenate([*residuals, np.zeros(0)]))  # sorted, so that the order of the groups does not matter
    quantiles = {}
    for count in {len(group) for group in values if _spreads(group)}:
        if count < FEWEST:
            quantiles[count] = stats.t.ppf(_tails(level), count - 1)
        else:
            quantiles[count] = t_quantiles(pool, count, DRAWS, np.random.default_rng(0), level)
    intervals: list[Interval | None] = []
    for group in values:
        if _spreads(group):
            low, high = group.mean() - quantiles[len(group)][::-1] * _standard_error(group)
            intervals.append(Interval(float(low), float(high)))
        else:
            intervals.append(None)
    return intervals


def difference_intervals(
    groups: Sequence[Mapping[int, float]], best: int, level: float = LEVEL
) -> list[Interval | None]:
    """Return the interval of each group's mean minus the mean of the group at index `best`.

    Groups of the same seeds are compared seed by seed, which cancels effects of a seed on both. For others the two
    variances add up, and Student's t has the degrees of freedom of the smaller group, which is conservative.

    Args:
        groups: value by seed.
        best: index of the reference group; its interval is None.
        level: two-sided level of the intervals.
    """
    reference = groups[best]
    paired = [index for index, group in enumerate(groups) if index != best and group.keys() == reference.keys()]
    pairs = mean_intervals(
        [[value - reference[seed] for seed, value in groups[index].items()] for index in paired], level
    )
    found = dict(zip(paired, pairs, strict=True))
    return [
        found[index] if index in found else None if index == best else _unpaired(group, reference, level)
        for index, group in enumerate(groups)
    ]


def standard_residuals(values: Values) -> Values:
    """Return residuals from the mean over the last axis, scaled to variance 1."""
    count = values.shape[-1]
    deviation = values.std(axis=-1, ddof=1, keepdims=True)
    return (values - values.mean(axis=-1, keepdims=True)) / deviation * np.sqrt(count / (count - 1))


def t_quantiles(
    pool: Float[np.ndarray, '... m'],
    count: int,
    draws: int,
    generator: np.random.Generator,
    level: float = LEVEL,
) -> Float[np.ndarray, '2 ...']:
    """Return the lower and the upper quantile of the studentised mean of `count` smoothed draws from a pool."""
    size = pool.shape[-1]
    normal_share = min(1.0, (4 / (3 * size)) ** 0.2)
    places = generator.integers(0, size, (*pool.shape[:-1], draws * count))
    drawn = np.take_along_axis(pool, places, axis=-1).reshape(*pool.shape[:-1], draws, count)
    drawn = np.sqrt(1 - normal_share**2) * drawn + normal_share * generator.standard_normal(drawn.shape)
    t = drawn.mean(axis=-1) / _standard_error(drawn)
    return np.quantile(t, _tails(level), axis=-1)


def _unpaired(group: Mapping[int, float], reference: Mapping[int, float], level: float) -> Interval | None:
    from scipy import stats

    mine, other = (np.sort(np.fromiter(values.values(), np.float64)) for values in (group, reference))
    if not (_spreads(mine) and _spreads(other)):
        return None
    half = stats.t.ppf(_tails(level)[1], min(len(mine), len(other)) - 1) * np.hypot(
        _standard_error(mine), _standard_error(other)
    )
    difference = mine.mean() - other.mean()
    return Interval(float(difference - half), float(difference + half))


def _standard_error(values: Values) -> np.ndarray | np.floating:
    return values.std(axis=-1, ddof=1) / np.sqrt(values.shape[-1])


def _tails(level: float) -> tuple[float, float]:
    return (1 - level) / 2, (1 + level) / 2


def _spreads(group: np.ndarray) -> bool:
    return len(group) > 1 and bool(np.ptp(group) > _ROUNDING * np.abs(group).max())
