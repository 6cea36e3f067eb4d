# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Metrics of numbers, against loops over the definitions and SciPy."""

import math

import numpy as np
import pytest
from scipy import stats

from saccade.metric.correlation import correlated, mean_squared_error, pearson, spearman
from saccade.types import UserError

EXACT = 1e-12  # double precision, sums in another order


def numbers(*values):
    return np.array(values, np.float64)


def drawn(seed, count=50):
    generator = np.random.default_rng(seed)
    values = generator.normal(size=count)
    return values, values + generator.normal(size=count)


def slow_pearson(x, y):
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    together = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return together / math.sqrt(sum((a - mean_x) ** 2 for a in x) * sum((b - mean_y) ** 2 for b in y))


def slow_ranks(x):
    """One more than how many are smaller, and half of the others that are equal."""
    return [1 + sum(b < a for b in x) + (sum(b == a for b in x) - 1) / 2 for a in x]


@pytest.mark.parametrize('seed', range(3))
@pytest.mark.parametrize('decimals', [0, 15])
def test_every_metric_is_its_definition(seed, decimals):
    values, predicted = (each.round(decimals) for each in drawn(seed))
    measured = {name: each.value for name, each in correlated(values, predicted).items()}
    assert measured == pytest.approx(
        {
            'pearson': slow_pearson(values, predicted),
            'spearman': slow_pearson(slow_ranks(values), slow_ranks(predicted)),
            'mean_squared_error': sum((a - b) ** 2 for a, b in zip(values, predicted, strict=True)) / len(values),
        },
        abs=EXACT,
    )
    assert measured['pearson'] == pytest.approx(stats.pearsonr(values, predicted).statistic, abs=EXACT)
    assert measured['spearman'] == pytest.approx(stats.spearmanr(values, predicted).statistic, abs=EXACT)


def test_numbers_worked_by_hand():
    values, predicted = numbers(1, 2, 3, 4), numbers(1, 3, 2, 10)
    assert pearson(values, predicted) == pytest.approx(13 / math.sqrt(5 * 50))
    assert spearman(values, predicted) == pytest.approx(1 - 6 * 2 / (4 * 15))  # 1 - 6 Σ d² / (n (n² - 1))
    assert mean_squared_error(values, predicted) == pytest.approx((0 + 1 + 1 + 36) / 4)


def test_perfect_and_opposite_predictions():
    values, _ = drawn(0)
    for measured in (correlated(values, values), correlated(values, 3 * values + 7)):
        for name in ('pearson', 'spearman'):
            each = measured[name]
            assert (each.value, each.low, each.high) == pytest.approx((1, 1, 1))
    assert correlated(values, values)['mean_squared_error'].value == 0
    opposite = correlated(values, -values)
    assert opposite['pearson'].value == pytest.approx(-1)
    assert opposite['spearman'].value == pytest.approx(-1)


def test_spearman_depends_on_the_order_alone():
    values, predicted = drawn(1)
    bent = correlated(values, np.exp(3 * predicted))
    straight = correlated(values, predicted)
    assert bent['spearman'] == straight['spearman']
    assert bent['pearson'].value < straight['pearson'].value


def test_values_and_predictions_may_be_swapped():
    values, predicted = drawn(2)
    for name, each in correlated(values, predicted).items():
        assert each.value == pytest.approx(correlated(predicted, values)[name].value, abs=EXACT)


@pytest.mark.parametrize('offset', [0, 1e6])
def test_an_offset_makes_no_difference(offset):
    values, predicted = drawn(3)
    near = correlated(values, predicted)['pearson']
    far = correlated(values + offset, predicted)['pearson']
    assert (far.value, far.low, far.high) == pytest.approx((near.value, near.low, near.high), rel=1e-6)


@pytest.mark.long
def test_the_interval_of_pearson_is_about_fishers():
    values, predicted = drawn(4, 500)
    measured = correlated(values, predicted)['pearson']
    fisher = stats.pearsonr(values, predicted).confidence_interval(0.95)
    width = fisher.high - fisher.low
    assert (measured.low, measured.high) == pytest.approx((fisher.low, fisher.high), abs=0.15 * width)


@pytest.mark.long
def test_the_interval_of_spearman_is_scipys():
    values, predicted = drawn(5, 40)
    measured = correlated(values, predicted)['spearman']

    def statistic(x, y):
        return stats.spearmanr(x, y).statistic

    expected = stats.bootstrap(
        (values, predicted), statistic, paired=True, vectorized=False, n_resamples=2000, method='BCa', rng=0
    ).confidence_interval
    slack = 0.12 * (expected.high - expected.low)  # both are of 2,000 resamples
    assert (measured.low, measured.high) == pytest.approx((expected.low, expected.high), abs=slack)


@pytest.mark.parametrize('constant', [[2.0, 2.0, 2.0], [0.1 + 0.2, 0.3, 0.3]])
def test_a_correlation_with_a_constant_is_0(constant):
    values = numbers(1, 2, 4)
    for one, other in ((values, numbers(*constant)), (numbers(*constant), values)):
        measured = correlated(one, other)['pearson']
        assert (measured.value, measured.low, measured.high) == (0, 0, 0)
        assert pearson(one, other) == 0
    assert spearman(values, numbers(2, 2, 2)) == 0


@pytest.mark.parametrize('count', [1, 2, 3])
def test_few_examples_have_finite_intervals(count):
    for seed in range(20):
        for name, each in correlated(*drawn(seed, count)).items():
            assert each.low <= each.value <= each.high
            assert name == 'mean_squared_error' or -1 <= each.low <= each.high <= 1


def test_a_prediction_that_is_no_number_shows():
    measured = correlated(numbers(1, 2, 3), numbers(1, math.nan, 3))
    for name in ('pearson', 'spearman', 'mean_squared_error'):
        assert math.isnan(measured[name].value)


@pytest.mark.parametrize(
    ('predicted', 'by_rank'), [([1, math.inf, 3], 0.5), ([-math.inf, 2, math.inf], 1), ([math.inf] * 3, 0)]
)
def test_an_infinite_prediction_is_no_constant(predicted, by_rank):
    measured = correlated(numbers(1, 2, 3), numbers(*predicted))
    assert math.isnan(measured['pearson'].value)
    assert measured['mean_squared_error'].value == math.inf
    assert measured['spearman'].value == pytest.approx(by_rank)


@pytest.mark.parametrize('size', [1e-300, 1e300])
def test_a_scale_makes_no_difference(size):
    values, predicted = drawn(3)
    assert pearson(values, size * predicted) == pytest.approx(pearson(values, predicted), abs=EXACT)


def test_half_precision_is_measured_in_double():
    values, predicted = drawn(6)
    halves = values.astype(np.float16), predicted.astype(np.float16)
    doubles = [each.astype(np.float64) for each in halves]
    assert correlated(*halves) == correlated(*doubles)
    assert (pearson(*halves), mean_squared_error(*halves)) == (pearson(*doubles), mean_squared_error(*doubles))


def test_no_examples_are_refused():
    with pytest.raises(UserError, match='no examples'):
        correlated(numbers(), numbers())
