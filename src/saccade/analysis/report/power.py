# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Power analysis of a paired t-test: how many seeds would tell a variant from the best.

    power(n) = P(|T| > t),   T ~ noncentral t with n - 1 degrees of freedom and noncentrality sqrt(n) |d| / s

d is the difference of the two means and s the standard deviation of the difference from seed to seed, both as seen; t
is the 97.5% quantile of Student's t with n - 1 degrees of freedom. Returned is the least n for which power(n) >= 80%.
Variants that did not run the same seeds are taken as independent: s^2 is the sum of their variances. Few seeds tell d
and s roughly, and so n: a true difference that is half of the one seen takes four times as many seeds.

J. Cohen 1988, Statistical Power Analysis for the Behavioral Sciences, 2nd edition, chapter 2, case 4 (n differences
between paired observations).
"""

from collections.abc import Mapping, Sequence

import numpy as np

ALPHA, POWER = 0.05, 0.8
_LEAST = 1e-3  # deviations: a difference smaller than this takes millions of seeds


def seeds_to_tell(one: Mapping[int, float], other: Mapping[int, float], alpha: float = ALPHA) -> int | None:
    """Return how many seeds of each would tell two variants apart; None where the deviation is not known or is zero,
    or the difference is too small for any number of seeds.

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
    """Return the least number of seeds that shows each difference; None where no number is enough.

    Args:
        effects: mean differences, in standard deviations of the difference from seed to seed.
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
    """Return the power of a paired t-test for a difference of so many standard deviations, a share from 0 to 1."""
    from scipy import stats

    critical, shift = stats.t.ppf(1 - alpha / 2, np.subtract(seeds, 1)), effect * np.sqrt(seeds)
    return stats.nct.sf(critical, np.subtract(seeds, 1), shift) + stats.nct.cdf(-critical, np.subtract(seeds, 1), shift)
