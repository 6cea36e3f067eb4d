# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Metrics of classes, against loops over the definitions."""

import math

import numpy as np
import pytest

from saccade.metric.classification import (
    accuracy,
    class_f1,
    classified,
    macro_f1,
    majority,
    matthews,
    positive_f1,
    tally,
)
from saccade.types import UserError

TWO, THREE, FOUR = ('no', 'yes'), ('a', 'b', 'c'), ('a', 'b', 'c', 'd')
EXACT = 1e-12  # double precision, sums in another order


def classes(*values):
    return np.array(values)


def drawn(names, seed, count=60):
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, len(names), count)
    return labels, np.where(generator.random(count) < 0.5, labels, generator.integers(0, len(names), count))


def sums_of(labels, predicted, names):
    return tally(labels, predicted, names).sum(axis=0)


def slow_f1(labels, predicted, k):
    """The harmonic mean of precision and recall, by their definitions."""
    pairs = list(zip(labels.tolist(), predicted.tolist(), strict=True))
    hits = sum(true == guess == k for true, guess in pairs)
    if not hits:
        return 0.0
    precision, recall = hits / sum(guess == k for _, guess in pairs), hits / sum(true == k for true, _ in pairs)
    return 2 / (1 / precision + 1 / recall)


def slow_matthews(labels, predicted, count):
    """Gorodkin 2004, equations 1-3: covariances of the indicators, added up over the classes."""
    true, guessed = (np.eye(count)[each] for each in (labels, predicted))

    def covariance(x, y):
        return sum(np.mean((x[:, k] - x[:, k].mean()) * (y[:, k] - y[:, k].mean())) for k in range(count))

    return covariance(true, guessed) / math.sqrt(covariance(true, true) * covariance(guessed, guessed))


@pytest.mark.parametrize('names', [TWO, THREE, FOUR], ids=len)
@pytest.mark.parametrize('seed', range(3))
def test_every_metric_is_its_definition(names, seed):
    labels, predicted = drawn(names, seed)
    sums = sums_of(labels, predicted, names)
    by_class = [slow_f1(labels, predicted, k) for k in range(len(names))]
    assert accuracy(sums) == pytest.approx(sum(labels == predicted) / len(labels), abs=EXACT)
    assert class_f1(sums) == pytest.approx(by_class, abs=EXACT)
    assert positive_f1(sums) == pytest.approx(by_class[1], abs=EXACT)
    assert macro_f1(sums) == pytest.approx(sum(by_class) / len(names), abs=EXACT)
    assert matthews(sums) == pytest.approx(slow_matthews(labels, predicted, len(names)), abs=EXACT)


def test_a_tally_has_hits_then_predicted_then_true_classes():
    np.testing.assert_array_equal(
        tally(classes(0, 1), classes(0, 2), THREE),
        [[1, 0, 0, 1, 0, 0, 1, 0, 0], [0, 0, 0, 0, 0, 1, 0, 1, 0]],
    )


def test_matthews_of_two_classes_is_the_correlation_of_their_numbers():
    labels, predicted = drawn(TWO, 7)
    assert matthews(sums_of(labels, predicted, TWO)) == pytest.approx(np.corrcoef(labels, predicted)[0, 1], abs=EXACT)


def test_a_confusion_worked_by_hand():
    labels, predicted = np.repeat([1, 1, 0, 0], [6, 2, 1, 3]), np.repeat([1, 0, 1, 0], [6, 2, 1, 3])
    measured = classified(labels, predicted, TWO)
    assert measured['accuracy'].value == pytest.approx(9 / 12)
    assert measured['f1'].value == pytest.approx(12 / 15)  # 2 TP / (2 TP + FP + FN)
    assert measured['matthews'].value == pytest.approx((6 * 3 - 1 * 2) / math.sqrt(7 * 8 * 4 * 5))
    sums = tally(labels, predicted, TWO).sum(axis=0)
    np.testing.assert_allclose(class_f1(sums), (6 / 9, 12 / 15))


def test_f1_of_more_than_two_classes_is_their_mean():
    labels, predicted = drawn(THREE, 1)
    mean = class_f1(tally(labels, predicted, THREE).sum(axis=0)).mean()
    assert classified(labels, predicted, THREE)['f1'].value == pytest.approx(mean)


@pytest.mark.parametrize('names', [TWO, THREE], ids=len)
def test_perfect_predictions_are_worth_1(names):
    labels, _ = drawn(names, 0)
    for measured in classified(labels, labels, names).values():
        assert (measured.value, measured.low, measured.high) == pytest.approx((1, 1, 1))


def test_predictions_the_other_way_round_correlate_at_minus_1():
    labels, _ = drawn(TWO, 0)
    measured = classified(labels, 1 - labels, TWO)
    assert {name: each.value for name, each in measured.items()} == pytest.approx(
        {'accuracy': 0, 'f1': 0, 'matthews': -1}
    )


@pytest.mark.parametrize('names', [TWO, THREE], ids=len)
def test_labels_and_predictions_may_be_swapped(names):
    labels, predicted = drawn(names, 2)
    one, other = classified(labels, predicted, names), classified(predicted, labels, names)
    for name, each in one.items():
        assert each.value == pytest.approx(other[name].value, abs=EXACT)


def test_a_constant_prediction_has_no_correlation():
    labels, _ = drawn(TWO, 0)
    for constant in (np.zeros_like(labels), np.ones_like(labels)):
        measured = classified(labels, constant, TWO)['matthews']
        assert (measured.value, measured.low, measured.high) == (0, 0, 0)


def test_a_class_that_nothing_has_is_left_out_of_the_mean():
    labels, predicted = classes(0, 0, 1, 1), classes(0, 1, 1, 1)
    assert macro_f1(sums_of(labels, predicted, FOUR)) == pytest.approx((2 / 3 + 4 / 5) / 2)
    assert macro_f1(sums_of(labels, classes(0, 3, 1, 1), FOUR)) == pytest.approx((2 / 3 + 1 + 0) / 3)


def test_the_interval_of_accuracy_is_about_as_wide_as_the_normal_one():
    labels = np.zeros(400, np.int64)
    measured = classified(labels, np.repeat([0, 1], [320, 80]), TWO)['accuracy']
    half = 1.96 * math.sqrt(0.8 * 0.2 / 400)
    assert (measured.low, measured.high) == pytest.approx((0.8 - half, 0.8 + half), abs=0.2 * half)


@pytest.mark.parametrize('count', [1, 2])
def test_one_or_two_examples_have_finite_metrics(count):
    for measured in classified(classes(*[1] * count), classes(*[0] * count), THREE).values():
        assert (measured.value, measured.low, measured.high) == (0, 0, 0)


def test_the_majority_is_that_of_the_training_labels():
    np.testing.assert_array_equal(majority(classes(2, 0, 2, 1), 3), [2, 2, 2])
    np.testing.assert_array_equal(majority(classes(1, 0, 0, 1), 2), [0, 0])


@pytest.mark.parametrize(
    ('labels', 'predicted', 'message'),
    [
        ((0, 1, -1), (0, 1, 1), r'^label -1 of example 2 \(from 0\) is none of the 2 classes 0 to 1: no, yes$'),
        ((0, 1, 1), (2, 1, 1), '^predicted label 2 of example 0 '),
    ],
)
def test_a_label_of_no_class_is_refused(labels, predicted, message):
    with pytest.raises(UserError, match=message):
        classified(classes(*labels), classes(*predicted), TWO)


def test_no_examples_are_refused():
    with pytest.raises(UserError, match='no examples'):
        classified(np.zeros(0, np.int64), np.zeros(0, np.int64), TWO)
