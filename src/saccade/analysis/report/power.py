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

from collections.abc import Mapping

import numpy as np
from scipy import stats

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
    effect = float(abs(difference) / deviation) if deviation > 0 else 0.0
    if effect < _LEAST:
        return None
    enough = 2
    while power(effect, enough, alpha) < POWER:
        enough *= 2
    few = enough // 2
    while enough - few > 1:
        middle = (few + enough) // 2
        few, enough = (few, middle) if power(effect, middle, alpha) >= POWER else (middle, enough)
    return enough


def power(effect: float, seeds: int, alpha: float = ALPHA) -> float:
    """Return the power of a paired t-test for a difference of so many standard deviations, a share from 0 to 1."""
    critical, shift = stats.t.ppf(1 - alpha / 2, seeds - 1), effect * np.sqrt(seeds)
    return float(stats.nct.sf(critical, seeds - 1, shift) + stats.nct.cdf(-critical, seeds - 1, shift))
