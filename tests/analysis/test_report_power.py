# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""How many seeds would tell two variants apart: published numbers, simulation, and where nothing can be said."""

import math

import numpy as np
import pytest
from scipy import stats

from saccade.analysis.report.power import POWER, power, seeds_for, seeds_to_tell

STUDIES = 20_000
CHANCE = 4  # standard errors of a simulated share: one in 16,000 by chance


def pairs(effect: float) -> tuple[dict[int, float], dict[int, float]]:
    """Two variants over seeds 0 and 1 whose differences have such a mean, in their standard deviations."""
    spread = 1 / math.sqrt(2)  # deviation of two values so far to either side: 1
    return {0: effect + spread, 1: effect - spread}, {0: 0.0, 1: 0.0}


# Two-sided, alpha 5%, power 80%, as G*Power and Cohen's tables for pairs have them.
@pytest.mark.parametrize(('effect', 'seeds'), [(0.2, 199), (0.5, 34), (0.8, 15), (1.0, 10)])
def test_the_published_sample_sizes_of_pairs(effect, seeds):
    assert seeds_to_tell(*pairs(effect)) == seeds
    assert power(effect, seeds - 1) < POWER <= power(effect, seeds)


@pytest.mark.parametrize(('effect', 'seeds'), [(1.5, 6), (0.9, 12), (0.9, 5)])
def test_power_is_the_share_of_simulated_studies_that_find_the_difference(effect, seeds):
    values = effect + np.random.default_rng(0).standard_normal((STUDIES, seeds))
    found = (stats.ttest_1samp(values, 0.0, axis=1).pvalue < 0.05).mean()
    expected = power(effect, seeds)
    assert found == pytest.approx(expected, abs=CHANCE * math.sqrt(expected * (1 - expected) / STUDIES))


@pytest.mark.parametrize('alpha', [0.05, 0.05 / 45])
def test_power_rises_with_the_difference_and_the_seeds_however_large(alpha):
    effects, seeds = np.geomspace(0.01, 50, 60), np.arange(2, 60)
    found = power(effects[:, None], seeds, alpha)
    assert np.isfinite(found).all()
    assert (np.diff(found, axis=0) > -1e-9).all()
    assert (np.diff(found, axis=1) > -1e-9).all()


def test_few_seeds_tell_large_differences():
    assert seeds_for([2.0, 3.5, 4.0], 0.05 / 45) == [10, 6, 6]  # by integrals over the chi distribution
    assert seeds_to_tell({0: 0.5, 1: 0.5}, {0: 0.59, 1: 0.61}) == 3


def test_the_same_seeds_are_compared_pair_by_pair_and_others_as_independent():
    best, other = {0: 1.0, 1: 9.0}, {0: 1.2, 1: 9.5}  # differences 0.2 and 0.5
    effect = 0.35 / (0.3 / math.sqrt(2))
    assert power(effect, seeds_to_tell(other, best)) >= POWER > power(effect, seeds_to_tell(other, best) - 1)
    apart = {2: 1.2, 3: 9.5}
    assert seeds_to_tell(apart, best) > 1000  # the seeds differ by far more than the variants do


def test_nothing_is_said_where_nothing_is_known():
    assert seeds_to_tell({0: 1.0}, {0: 2.0}) is None
    assert seeds_to_tell({0: 1.0, 1: 2.0}, {0: 1.0}) is None
    assert seeds_to_tell({0: 1.0, 1: 2.0}, {0: 2.0, 1: 1.0}) is None  # no difference: no number of seeds is enough
    assert seeds_to_tell({0: 1.0, 1: 2.0}, {0: 2.0, 1: 3.0}) is None  # no deviation


def test_a_small_difference_takes_many_seeds_and_no_time():
    needed = seeds_to_tell(*pairs(0.002))
    assert needed == pytest.approx((2.8016 / 0.002) ** 2, rel=1e-3)  # as the normal distribution has it
