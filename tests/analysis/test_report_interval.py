# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The report's intervals: they hold the truth as often as they say, and depend on the values alone."""

import math

import numpy as np
import pytest
from scipy import stats

from benchmarks.coverage import NOISE, Case, coverage
from saccade.analysis.report.interval import Interval, difference_intervals, mean_intervals

STUDIES = 600
CHANCE = 4  # standard errors of a simulated share: one in 16,000 by chance
DRAWING = 0.03  # relative: of quantiles from 200,000 draws beside those from as many others


def slack(expected: float, intervals: int) -> float:
    return CHANCE * math.sqrt(expected * (1 - expected) / intervals)


@pytest.mark.parametrize(
    'case',
    [
        Case('normal', 2, 3),
        Case('normal', 5, 3, unequal=True),
        Case('normal', 9, 3, shared=True),
        Case('normal', 5, 5, unequal=True, shared=True),
        Case('heavy (t 3)', 5, 3, shared=True),
    ],
    ids=str,
)
def test_intervals_hold_the_truth_in_95_of_100_studies(case):
    found = coverage(case, STUDIES, np.random.default_rng(1))
    lowest = 0.95 - slack(0.95, STUDIES)  # the intervals of one study depend on each other: count studies alone
    highest = 0.97 + slack(0.97, STUDIES)
    assert lowest <= found.mean <= highest
    assert lowest <= found.difference <= highest
    assert found.worst >= lowest - 0.01  # the least of several


@pytest.mark.long
def test_skewed_noise_and_a_picked_best_cost_what_is_claimed():
    skewed = coverage(Case('skewed (exponential)', 5, 3, unequal=True), STUDIES, np.random.default_rng(2))
    assert 0.88 - slack(0.88, STUDIES) <= skewed.mean <= 0.94 + slack(0.94, STUDIES)
    picked = coverage(Case('normal', 9, 5), STUDIES, np.random.default_rng(3))
    assert 0.87 <= picked.picked < picked.difference


def test_the_percentile_bootstrap_would_not_do():
    found = coverage(Case('normal', 5, 3), 200, np.random.default_rng(4))
    assert found.percentile < 0.85 < found.mean


@pytest.mark.parametrize('noise', NOISE)
def test_simulated_noise_has_no_mean_and_unit_variance(noise):
    values = NOISE[noise](np.random.default_rng(0), (2_000_000,))
    assert values.mean() == pytest.approx(0, abs=0.01)
    assert values.std() == pytest.approx(1, abs=0.05)


def test_a_simulated_study_has_the_means_and_deviations_it_says():
    values, truth = Case('normal', 3, 4, unequal=True).studies(20_000, np.random.default_rng(0))
    assert values.mean(axis=(0, 2)) == pytest.approx(truth, abs=0.1)
    assert values.std(axis=(0, 2)) == pytest.approx([1, math.sqrt(5), 5], rel=0.02)


def by_loop(groups: list[list[float]], which: int) -> Interval:
    """The interval as the docstring says it, with a loop, other draws and no array over resamples."""
    generator = np.random.default_rng(123)
    pool = []
    for group in groups:
        if len(group) > 2:
            mean, deviation = np.mean(group), np.std(group, ddof=1)
            pool += [(value - mean) / deviation * math.sqrt(len(group) / (len(group) - 1)) for value in group]
    share = (4 / (3 * len(pool))) ** (1 / 5)
    group, ts = groups[which], []
    for _ in range(40_000):
        drawn = generator.choice(pool, len(group)) * math.sqrt(1 - share**2) + share * generator.normal(size=len(group))
        ts.append(drawn.mean() / (drawn.std(ddof=1) / math.sqrt(len(group))))
    error = np.std(group, ddof=1) / math.sqrt(len(group))
    low, high = np.quantile(ts, (0.025, 0.975))
    return Interval(float(np.mean(group) - high * error), float(np.mean(group) - low * error))


@pytest.mark.long
def test_an_interval_is_what_a_plain_loop_gives():
    groups = [[1.0, 2.0, 4.0], [0.1, 0.2, 0.25, 0.6], [5.0, 5.5]]
    for which in (0, 1):
        found, expected = mean_intervals(groups)[which], by_loop(groups, which)
        width = expected.high - expected.low
        assert found.low == pytest.approx(expected.low, abs=DRAWING * width)
        assert found.high == pytest.approx(expected.high, abs=DRAWING * width)


def test_two_seeds_give_students_t():
    (found,) = mean_intervals([[1.0, 2.0]])
    low, high = stats.t.interval(0.95, 1, loc=1.5, scale=0.5)
    assert (found.low, found.high) == pytest.approx((low, high))


def test_few_residuals_give_nearly_students_t():
    (found,) = mean_intervals([[1.0, 2.0, 4.0]])
    low, high = stats.t.interval(0.95, 2, loc=7 / 3, scale=stats.sem([1, 2, 4]))
    assert found.high - found.low == pytest.approx(high - low, rel=0.15)


def test_one_seed_or_equal_seeds_have_no_interval():
    assert mean_intervals([[1.0], [2.0, 2.0, 2.0], [0.1 + 0.2, 0.3, 0.3]]) == [None, None, None]
    assert difference_intervals([{0: 1.0}, {0: 2.0}], best=0) == [None, None]


def test_differences_are_of_pairs_where_seeds_are_the_same():
    best, other = {0: 1.0, 1: 2.0, 2: 9.0}, {2: 9.3, 0: 1.1, 1: 2.2}
    _, found = difference_intervals([best, other], best=0)
    (pairs,) = mean_intervals([[0.1, 0.2, 0.3]])
    assert (found.low, found.high) == pytest.approx((pairs.low, pairs.high))
    assert found.high < 1  # the seeds differ by far more than the variants do


def test_differences_of_other_seeds_add_the_variances_with_the_fewer_degrees_of_freedom():
    best, other = {0: 1.0, 1: 2.0, 2: 4.0}, {0: 3.0, 3: 5.0}
    _, found = difference_intervals([best, other], best=0)
    scale = math.hypot(stats.sem([1, 2, 4]), stats.sem([3, 5]))
    low, high = stats.t.interval(0.95, 1, loc=4 - 7 / 3, scale=scale)
    assert (found.low, found.high) == pytest.approx((low, high))


def test_the_order_of_runs_makes_no_difference():
    groups = [[1.0, 2.0, 4.0], [0.1, 0.2, 0.6], [3.0, 3.5, 3.1, 2.0]]
    turned = [group[::-1] for group in groups[::-1]]
    assert mean_intervals(groups) == mean_intervals(turned)[::-1]
    pairs = [dict(enumerate(group[:3])) for group in groups]
    assert difference_intervals(pairs, best=1) == difference_intervals(pairs[::-1], best=1)[::-1]
