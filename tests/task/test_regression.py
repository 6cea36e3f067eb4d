# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Regression by models whose predictions are known, and by a small encoder."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from known_encoder import POOLED, Known, blank, encoder, framed, loss_of

from saccade.task.absolute_regression import AbsoluteRegression, median
from saccade.task.regression import Regression, mean
from saccade.types import Evaluator, Task, UserError

NEAR = 1e-5
MODEL = Known((('pooled', (4, 1)),))
VALUES = np.array([2.5, -1.0, np.nan, 0.0], np.float32)
BATCH = {**blank(4, 8), 'value': jnp.array(VALUES), 'example': jnp.array([0, 1, -1, 2])}
PARAMS = Regression().init(MODEL, jax.random.key(0), BATCH)
COUNTED = np.flatnonzero(~np.isnan(VALUES))


def test_the_loss_is_the_mean_squared_error():
    found = loss_of(Regression(), MODEL, PARAMS, BATCH)
    assert found.keys() == {'loss'}
    assert found['loss'].weight == len(COUNTED)
    errors = PARAMS['pooled'][COUNTED, 0] - VALUES[COUNTED]
    assert found['loss'].mean() == pytest.approx(float((errors**2).mean()), rel=NEAR)


def test_the_loss_of_absolute_regression_is_the_mean_absolute_error():
    found = loss_of(AbsoluteRegression(), MODEL, PARAMS, BATCH)
    assert found.keys() == {'loss'}
    assert found['loss'].weight == len(COUNTED)
    errors = PARAMS['pooled'][COUNTED, 0] - VALUES[COUNTED]
    assert found['loss'].mean() == pytest.approx(float(np.abs(errors).mean()), rel=NEAR)
    gradient = jax.grad(lambda params: loss_of(AbsoluteRegression(), MODEL, params, BATCH)['loss'].mean())(PARAMS)
    np.testing.assert_allclose(gradient['pooled'][COUNTED, 0], np.sign(errors) / 3, rtol=NEAR)
    assert gradient['pooled'][2, 0] == 0.0


def test_a_row_without_a_value_has_no_gradient():
    gradient = jax.grad(lambda params: loss_of(Regression(), MODEL, params, BATCH)['loss'].mean())(PARAMS)['pooled']
    np.testing.assert_allclose(
        gradient[COUNTED, 0], 2 / 3 * (PARAMS['pooled'][COUNTED, 0] - VALUES[COUNTED]), rtol=NEAR
    )
    assert gradient[2, 0] == 0.0


def test_a_batch_of_padding_costs_nothing():
    padding = {**BATCH, 'value': jnp.full(4, jnp.nan)}
    assert loss_of(Regression(), MODEL, PARAMS, padding)['loss'].mean() == 0.0


def test_the_chunks_of_an_example_are_pooled_by_their_mean():
    predictions = {
        'logits': np.array([[1.0], [3.0], [5.0], [0.0], [7.0]], np.float32),
        'value': np.array([1.0, 1.0, 5.0, -1.0, np.nan], np.float32),
        'example': np.array([0, 0, 1, 2, -1]),
    }
    found = Regression().evaluate(predictions, SimpleNamespace())
    assert found['mean_squared_error'].value == pytest.approx((1 + 0 + 1) / 3)
    assert found['pearson'].value == pytest.approx(np.corrcoef([2, 5, 0], [1, 5, -1])[0, 1])
    assert found['spearman'].value == pytest.approx(1.0)


@pytest.mark.long
def test_padding_changes_nothing_that_is_predicted():
    short, long = (encoder(context_length, pooled=POOLED | {'classes': 1}) for context_length in (8, 14))
    texts = ([5, 6, 7, 8, 9, 10], [11])
    answers = {'value': jnp.array([0.5, 1.0]), 'example': jnp.arange(2)}
    params = Regression().init(short, jax.random.key(1), framed(8, *texts) | answers)
    a = Regression().predict(short, params, framed(8, *texts) | answers)
    b = Regression().predict(long, params, framed(14, *texts) | answers)
    np.testing.assert_allclose(a['logits'], b['logits'], atol=NEAR)


def test_a_head_of_several_classes_is_refused():
    with pytest.raises(UserError, match=r'config\.model\.heads\.pooled\.classes: .* 1, not 2'):
        loss_of(Regression(), Known((('pooled', (4, 2)),)), {'pooled': jnp.zeros((4, 2))}, BATCH)


def test_the_baseline_says_the_mean_of_training():
    train, validation = (SimpleNamespace(answers=np.array(each, np.float32)) for each in ([0, 1, 5], [1, 2, 3]))
    found = mean(train, validation, 100)
    assert found['loss'] == found['mean_squared_error'] == pytest.approx(2 / 3)
    assert found['pearson'] == found['spearman'] == 0.0


def test_the_baseline_of_absolute_regression_says_the_median_of_training():
    train, validation = (SimpleNamespace(answers=np.array(each, np.float32)) for each in ([0, 1, 5], [1, 2, 3]))
    found = median(train, validation, 100)
    assert found['loss'] == pytest.approx(1.0)
    assert found['mean_squared_error'] == pytest.approx(5 / 3)
    assert found['pearson'] == found['spearman'] == 0.0


def test_it_is_a_task_that_judges():
    assert isinstance(Regression(), Task)
    assert isinstance(Regression(), Evaluator)
