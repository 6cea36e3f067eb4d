# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Power analysis of a paired t-test: number of seeds that would distinguish a variant from the best.

    power(n) = P(|T| > t),   T ~ noncentral t with n - 1 degrees of freedom and noncentrality sqrt(n) |d| / s

d is the difference of the two means and s the standard deviation of the difference over seeds, both as observed; t
is the 97.5% quantile of Student's t with n - 1 degrees of freedom. The result is the smallest n with power(n) >= 80%.
Variants with different seeds are treated as independent: s^2 is the sum of their variances. With few seeds d, s and n
are rough estimates: a true difference of half the observed one needs four times as many seeds.

J. Cohen 1988, Statistical Power Analysis for the Behavioral Sciences, 2nd edition, chapter 2, case 4 (n differences
between paired observations).
"""

from collections.abc import Mapping, Sequence

import numpy as np

ALPHA, POWER = 0.05, 0.8
_LEAST = 1e-3  # standard deviations; a smaller difference needs millions of seeds


def seeds_to_tell(one: Mapping[int, float], other: Mapping[int, float], alpha: float = ALPHA) -> int | None:
    """Return the number of seeds that would distinguish two variants; None if the standard deviation is unknown or
    zero, or the difference is too small.

    Args:
        one, other: value by seed.
        alpha: level of the test.
    """
    if min(len(one), len(other)) < 2:
        return None
    difference = np.mean(list(one.values())) - np.mean(list(other.values()))
    if one.keys() == other.keys():
        deviation = np.std([value - other[seed] for seed, value in one.items()], ddof=1)
    else:
        deviation = np.hypot(*(np.std(list(values.values()), ddof=1) for values in (one, other)))
    (needed,) = seeds_for([float(abs(difference) / deviation) if deviation > 0 else 0.0], alpha)
    return needed


def seeds_for(effects: Sequence[float] | np.ndarray, alpha: float = ALPHA) -> list[int | None]:
    """Return the smallest number of seeds that detects each difference; None if no number is enough.

    Args:
        effects: mean differences, in standard deviations of the difference over seeds.
        alpha: level of the test.
    """
    effects = np.asarray(effects, float)
    few, enough = np.ones(len(effects), int), np.full(len(effects), 2)
    known = effects >= _LEAST
    while (short := np.flatnonzero(known & (power(effects, enough, alpha) < POWER))).size:
        few[short], enough[short] = enough[short], 2 * enough[short]
    while (wide := np.flatnonzero(known & (enough - few > 1))).size:
        middle = (few[wide] + enough[wide]) // 2
        reached = power(effects[wide], middle, alpha) >= POWER
        enough[wide], few[wide] = np.where(reached, middle, enough[wide]), np.where(reached, few[wide], middle)
    return [int(count) if there else None for count, there in zip(enough, known, strict=True)]


def power(effect: float | np.ndarray, seeds: int | np.ndarray, alpha: float = ALPHA) -> np.ndarray | np.floating:
    """Return the power of a paired t-test, from 0 to 1, for a difference in standard deviations."""
    from scipy import stats

    freedom, shift = np.subtract(seeds, 1), effect * np.sqrt(seeds)
    critical = stats.t.ppf(1 - alpha / 2, freedom)
    opposite = stats.nct.cdf(-critical, freedom, shift)  # NaN in SciPy where it vanishes
    return stats.nct.sf(critical, freedom, shift) + np.nan_to_num(opposite)
