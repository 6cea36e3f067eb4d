# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Metrics of classes, numbers and ranks against scikit-learn and SciPy, on ties, constants and single classes."""

import itertools
import math
import warnings

import numpy as np
import pytest
from scipy import stats

from saccade.metric.classification import accuracy, class_f1, classified, macro_f1, matthews, positive_f1, tally
from saccade.metric.correlation import correlated
from saccade.metric.retrieval import ranks, retrieved

sklearn = pytest.importorskip('sklearn.metrics')

pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings('ignore:A single label was found:UserWarning')]

EXACT = 1e-12  # double precision, sums in another order
NAMES = {2: ('no', 'yes'), 3: ('a', 'b', 'c')}


def values(measured):
    return {name: each.value for name, each in measured.items()}


@pytest.mark.parametrize('classes', [2, 3])
def test_metrics_of_every_few_labels_are_those_of_scikit_learn(classes):
    """All pairs of three labels: also a single class, constant predictions, and classes that nothing has."""
    f1, average = (positive_f1, 'binary') if classes == 2 else (macro_f1, 'macro')
    every = [np.array(labels) for labels in itertools.product(range(classes), repeat=3)]
    for labels, predicted in itertools.product(every, every):
        sums = tally(labels, predicted, NAMES[classes]).sum(axis=0)
        assert [accuracy(sums), f1(sums), matthews(sums)] == pytest.approx(
            [
                sklearn.accuracy_score(labels, predicted),
                sklearn.f1_score(labels, predicted, zero_division=0, average=average),
                sklearn.matthews_corrcoef(labels, predicted),
            ],
            abs=EXACT,
        )


@pytest.mark.parametrize('count', [1, 10, 100_000])
def test_metrics_of_many_labels_are_those_of_scikit_learn(count):
    generator = np.random.default_rng(count)
    labels = generator.choice(3, count, p=[0.98, 0.015, 0.005])
    predicted = np.where(generator.random(count) < 0.7, labels, generator.integers(3, size=count))
    found = values(classified(labels, predicted, NAMES[3]))
    assert found['matthews'] == pytest.approx(sklearn.matthews_corrcoef(labels, predicted), abs=EXACT)
    assert found['f1'] == pytest.approx(sklearn.f1_score(labels, predicted, average='macro', zero_division=0))
    by_class = sklearn.f1_score(labels, predicted, average=None, labels=[0, 1, 2], zero_division=0)
    np.testing.assert_allclose(class_f1(tally(labels, predicted, NAMES[3]).sum(axis=0)), by_class, atol=EXACT)


PREDICTED = {
    'ties': [1, 1, 2, 2, 2, 5],
    'opposite': [6, 5, 4, 3, 2, 1],
    'one differs': [1, 1, 1, 1, 1, 2],
    'large': [1e38, -1e38, 3e38, 2e38, 0, 1e37],
    'small': [1e-200, 2e-200, -1e-200, 0, 3e-200, 4e-200],
    'far from zero': [1e9, 1e9 + 1, 1e9 + 2, 1e9, 1e9 + 1, 1e9 + 5],
}
CONSTANT = {'constant': [3.0] * 6, 'zeros': [0.0] * 6, 'rounding': [0.1 + 0.2, 0.3, 0.3, 0.3, 0.3, 0.3]}
VALUES = np.array([1.0, 2, 2, 3, 4, 4])


@pytest.mark.parametrize('name', PREDICTED)
def test_correlations_are_those_of_scipy(name):
    predicted = np.array(PREDICTED[name], np.float64)
    for one, other in ((VALUES, predicted), (predicted, VALUES)):
        found = values(correlated(one, other))
        assert found['pearson'] == pytest.approx(stats.pearsonr(one, other).statistic, abs=1e-9)
        assert found['spearman'] == pytest.approx(stats.spearmanr(one, other).statistic, abs=EXACT)
        assert found['mean_squared_error'] == pytest.approx(sklearn.mean_squared_error(one, other))


@pytest.mark.parametrize('name', CONSTANT)
def test_where_scipy_has_no_correlation_with_a_constant_ours_is_0(name):
    predicted = np.array(CONSTANT[name])
    for one, other in ((VALUES, predicted), (predicted, VALUES)):
        with warnings.catch_warnings():
            warnings.simplefilter('ignore', stats.ConstantInputWarning)
            warnings.simplefilter('ignore', stats.NearConstantInputWarning)
            theirs = stats.pearsonr(one, other).statistic, stats.spearmanr(one, other).statistic
        assert math.isnan(theirs[0]) or name == 'rounding'
        assert math.isnan(theirs[1]) or name == 'rounding'
        assert correlated(one, other)['pearson'].value == 0
        assert correlated(one, other)['spearman'].value == 0 or name == 'rounding'


@pytest.mark.parametrize('bad', [math.nan, math.inf])
def test_numbers_that_are_not_finite_are_as_in_scipy(bad):
    predicted = np.array([1.0, 2, bad, 3, 4, 4])
    with np.errstate(invalid='ignore'):
        theirs = stats.pearsonr(VALUES, predicted).statistic, stats.spearmanr(VALUES, predicted).statistic
    found = values(correlated(VALUES, predicted))
    assert [found['pearson'], found['spearman']] == pytest.approx(theirs, nan_ok=True)
    assert math.isnan(found['pearson'])


@pytest.mark.parametrize('levels', [2, 5, 1000])
def test_reciprocal_ranks_are_those_of_scikit_learn_which_counts_ties_against_the_right_text_too(levels):
    """Scores of few levels, so that many are equal; of one right text the average precision is 1 / rank."""
    generator = np.random.default_rng(levels)
    queries, corpus = np.eye(40), generator.integers(levels, size=(30, 40)).astype(np.float64)
    right = generator.integers(30, size=40)
    measured = values(retrieved(ranks(queries, corpus, right)))
    assert measured['mrr'] == pytest.approx(
        sklearn.label_ranking_average_precision_score(np.equal.outer(right, np.arange(30)), corpus.T), abs=EXACT
    )
    if levels == 1000:  # scikit-learn takes the order of the corpus for that of equal scores
        scores = corpus.T + 1e-6 * generator.random((40, 30))
        measured = values(retrieved(ranks(queries, scores.T, right)))
        for k in (1, 5, 10):
            expected = sklearn.top_k_accuracy_score(right, scores, k=k, labels=np.arange(30))
            assert measured[f'recall_at_{k}'] == pytest.approx(expected)
