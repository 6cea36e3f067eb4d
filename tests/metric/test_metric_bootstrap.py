# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Bootstrap intervals: they hold the truth as often as they say, and are what SciPy's BCa gives."""

import math

import numpy as np
import pytest
from scipy import stats

from saccade.metric import bootstrap
from saccade.metric.bootstrap import RESAMPLES, MetricInterval, of_examples, of_mean, of_sums, ratio
from saccade.types import UserError

STUDIES = 600
CHANCE = 4  # standard errors of a simulated share: one in 16,000 by chance
SLACK = CHANCE * math.sqrt(0.95 * 0.05 / STUDIES)
SHORT = 0.02  # what a BCa interval of some 100 examples may fall short of 95%
DRAWING = 0.08  # relative to the width: the ends of 2,000 resamples beside those of 20,000 others


def f1(sums):
    return ratio(2 * sums[..., 0], sums[..., 1] + sums[..., 2])


def mean_of_first(examples):
    return examples[..., 0].mean(axis=-1)


def bernoulli(generator):
    return of_mean((generator.random(100) < 0.8).astype(np.float64)), 0.8


def skewed(generator):
    return of_mean(generator.geometric(0.5, 80)), 2.0


def found_entities(generator):
    """Sentences of three true entities, each found 7 times of 10, and of some that are not there."""
    found = generator.binomial(3, 0.7, 100)
    guessed = found + generator.poisson(0.6, 100)
    return of_sums(np.stack([found, guessed, np.full(100, 3)], axis=-1), f1), 2 * 2.1 / (2.7 + 3)


def far_examples(generator):
    return of_examples(generator.exponential(size=(60, 1)), mean_of_first), 1.0


@pytest.mark.long
@pytest.mark.parametrize('study', [bernoulli, skewed, found_entities, far_examples])
def test_intervals_hold_the_truth_in_95_of_100_studies(study):
    generator = np.random.default_rng(1)
    studies = [study(generator) for _ in range(STUDIES)]
    held = np.mean([measured.low <= truth <= measured.high for measured, truth in studies])
    assert 0.95 - SHORT - SLACK <= held <= 0.95 + SLACK


def scipys(data, statistic):
    interval = stats.bootstrap(
        data, statistic, paired=True, n_resamples=20_000, method='BCa', rng=np.random.default_rng(9)
    ).confidence_interval
    return interval.low, interval.high


def assert_near(measured, ends):
    slack = DRAWING * (ends[1] - ends[0])
    assert measured.low == pytest.approx(ends[0], abs=slack)
    assert measured.high == pytest.approx(ends[1], abs=slack)


def quotient(x, y, axis):
    return x.sum(axis=axis) / y.sum(axis=axis)


def variance(x, y, axis):
    """Of x, not corrected for its bias, so that z0 is far from 0."""
    return (x * x).mean(axis=axis) - x.mean(axis=axis) ** 2


def quotient_of_sums(sums):
    return ratio(sums[..., 0], sums[..., 1])


def variance_of_sums(sums):
    return ratio(sums[..., 2], sums[..., 3]) - ratio(sums[..., 0], sums[..., 3]) ** 2


@pytest.mark.parametrize(('statistic', 'slow'), [(quotient_of_sums, quotient), (variance_of_sums, variance)])
def test_of_sums_gives_scipys_bca(statistic, slow):
    x, y = np.random.default_rng(3).gamma(2.0, size=(2, 25))
    measured = of_sums(np.stack([x, y, x * x, np.ones(25)], axis=-1), statistic)
    assert measured.value == pytest.approx(slow(x, y, -1))
    assert_near(measured, scipys((x, y), slow))


@pytest.mark.parametrize(('hits', 'count'), [(5, 10), (6, 13), (9, 14)])
def test_ties_with_the_value_count_half_as_in_scipys_bca(hits, count):
    examples = np.arange(count) < hits
    measured = of_mean(examples.astype(np.float64))
    expected = (hits / count, *scipys((examples,), np.mean))
    assert (measured.value, measured.low, measured.high) == pytest.approx(expected)


def test_of_examples_gives_scipys_bca():
    drawn = np.random.default_rng(4).lognormal(sigma=1.0, size=25)
    measured = of_examples(drawn[:, None], mean_of_first)
    assert measured.value == drawn.mean()
    assert_near(measured, scipys((drawn,), np.mean))


def test_leaving_out_groups_accelerates_as_leaving_out_each_does(monkeypatch):
    drawn = np.random.default_rng(5).lognormal(sigma=1.0, size=(400, 1))
    drawn.sort(axis=0)  # as a file may be
    each = of_examples(drawn, mean_of_first)
    monkeypatch.setattr(bootstrap, '_MOST_LEFT_OUT', 100)
    groups = of_examples(drawn, mean_of_first)
    assert groups != each
    slack = 0.01 * (each.high - each.low)  # both draw the same resamples
    assert (groups.low, groups.high) == pytest.approx((each.low, each.high), abs=slack)


def test_drawing_in_blocks_changes_nothing(monkeypatch):
    hits = np.random.default_rng(6).random(50)
    at_once = of_mean(hits)
    monkeypatch.setattr(bootstrap, '_MOST_DRAWN', 50 * 999)
    blocks = of_mean(hits)
    assert (blocks.low, blocks.high) == pytest.approx((at_once.low, at_once.high), rel=1e-12)
    assert list(bootstrap.block_sizes(999)) == [999, 999, RESAMPLES - 1998]


@pytest.mark.parametrize('measure', [of_mean, lambda values, seed=0: of_examples(values[:, None], mean_of_first, seed)])
def test_an_interval_is_a_function_of_the_examples_and_the_seed(measure):
    values = np.random.default_rng(7).normal(size=40)
    assert measure(values) == measure(values) == measure(values, seed=0)
    assert measure(values).low != measure(values, seed=1).low


def test_the_order_of_examples_makes_no_difference_to_sums():
    values = np.random.default_rng(8).normal(size=(40, 2))
    assert of_sums(values, lambda sums: sums[..., 0]) == of_sums(values[::-1], lambda sums: sums[..., 0])


@pytest.mark.parametrize('values', [[0.3], [0.1, 0.1, 0.1], [0.0, 0.0], [1.0] * 50])
def test_one_example_and_equal_ones_have_a_point_for_an_interval(values):
    values = np.array(values)
    for measured in (of_mean(values), of_examples(values[:, None], mean_of_first)):
        assert (measured.value, measured.low, measured.high) == pytest.approx((values[0],) * 3, rel=1e-12)
        assert measured.low <= measured.value <= measured.high


def test_an_only_example_is_never_left_out():
    of_sums(np.ones((1, 1)), lambda sums: 1 / sums[..., 0])
    of_examples(np.ones((1, 1)), mean_of_first)


def test_a_constant_statistic_has_a_point_for_an_interval():
    values = np.random.default_rng(0).normal(size=(9, 2))
    assert of_sums(values, lambda sums: 0.5 * np.ones(sums.shape[:-1])) == MetricInterval(0.5, 0.5, 0.5)
    assert of_examples(values, lambda drawn: 0.5 * np.ones(drawn.shape[:-2])) == MetricInterval(0.5, 0.5, 0.5)


def different(examples):
    """How many examples there are, each counted once: fewer in any resample."""
    return 1 + (np.diff(np.sort(examples[..., 0])) > 0).sum(axis=-1)


@pytest.mark.parametrize('sign', [1, -1])
def test_an_interval_holds_its_value_though_every_resample_lies_on_one_side(sign):
    measured = of_examples(np.arange(30.0)[:, None], lambda drawn: sign * different(drawn))
    assert measured.value == 30 * sign
    assert measured.low <= measured.value <= measured.high
    assert measured.low < measured.high


def test_no_examples_are_refused():
    for measure in (of_mean, lambda values: of_examples(values[:, None], mean_of_first)):
        with pytest.raises(UserError, match='no examples'):
            measure(np.zeros(0))


def test_a_ratio_of_nothing_is_0():
    np.testing.assert_array_equal(ratio(np.array([1.0, 0.0, 3.0]), np.array([2.0, 0.0, 0.0])), [0.5, 0, 0])
    assert ratio(np.float64(1), np.float64(4)) == 0.25
