# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Classification by models whose logits are known, and by a small encoder."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from known_encoder import POOLED, Known, blank, encoder, framed, loss_of

from saccade.task.classification import Classification, majority
from saccade.types import IGNORED, Evaluator, Task, UserError

NEAR = 1e-5
C = 3
MODEL = Known((('pooled', (5, C)),))
LABELS = np.array([2, 0, IGNORED, 1, 2])
BATCH = {**blank(5, 8), 'label': jnp.array(LABELS), 'example': jnp.array([0, 1, -1, 2, 3])}
PARAMS = Classification().init(MODEL, jax.random.key(0), BATCH)
LOG_P = np.asarray(jax.nn.log_softmax(PARAMS['pooled']), np.float64)
COUNTED = np.flatnonzero(LABELS != IGNORED)


def total(train=False, **settings):
    return loss_of(Classification(**settings), MODEL, PARAMS, BATCH, train)


def test_the_loss_is_the_mean_surprise_at_the_labels():
    found = total()['loss']
    assert found.weight == len(COUNTED)
    assert found.mean() == pytest.approx(-np.mean(LOG_P[COUNTED, LABELS[COUNTED]]), rel=NEAR)


def test_accuracy_is_the_share_of_labels_that_are_the_likeliest():
    assert total()['accuracy'].mean() == pytest.approx(np.mean(LOG_P.argmax(axis=-1)[COUNTED] == LABELS[COUNTED]))


def test_label_smoothing_spreads_a_share_over_the_classes_in_training_alone():
    e = 0.3
    expected = -(1 - e) * LOG_P[COUNTED, LABELS[COUNTED]] - e * LOG_P[COUNTED].mean(axis=-1)
    assert total(train=True, label_smoothing=e)['loss'].mean() == pytest.approx(expected.mean(), rel=NEAR)
    assert total(train=False, label_smoothing=e)['loss'].mean() == total()['loss'].mean()


def test_a_row_without_a_label_has_no_gradient():
    gradient = jax.grad(lambda params: loss_of(Classification(), MODEL, params, BATCH)['loss'].mean())(PARAMS)['pooled']
    np.testing.assert_array_equal(gradient[LABELS == IGNORED], 0.0)
    assert (np.abs(gradient[COUNTED]).max(axis=-1) > 0).all()


def test_a_batch_of_padding_costs_nothing():
    padding = {**BATCH, 'label': jnp.full(5, IGNORED)}
    assert loss_of(Classification(), MODEL, PARAMS, padding)['loss'].mean() == 0.0


def judged(logits, label, example, names):
    predictions = {'logits': np.array(logits, np.float32), 'label': np.array(label), 'example': np.array(example)}
    return Classification().evaluate(predictions, SimpleNamespace(names=names))


def test_the_chunks_of_an_example_are_pooled_by_the_mean_of_their_logits():
    logits = [[9, 0], [0, 4], [0, 4], [0, 2], [-9, 9]]
    example, label = [0, 0, 0, 1, -1], [0, 0, 0, 1, IGNORED]
    assert (
        judged(logits, label, example, ('no', 'yes'))['accuracy'].value == 1.0
    )  # 9 outweighs 4 + 4, though two to one
    logits[0][0] = 7
    found = judged(logits, label, example, ('no', 'yes'))
    assert found['accuracy'].value == 0.5
    assert found['f1'].value == pytest.approx(2 / 3)  # of 'yes': one of one, and one more


def test_each_example_counts_once_whatever_its_chunks():
    found = judged([[1, 0, 0]] * 8 + [[0, 1, 0], [0, 0, 1]], [0] * 8 + [2, 2], [0] * 8 + [1, 2], ('a', 'b', 'c'))
    assert found['accuracy'].value == pytest.approx(2 / 3)
    assert found['accuracy'].low < 2 / 3 < found['accuracy'].high


def test_predictions_are_of_each_row():
    found = Classification().predict(MODEL, PARAMS, BATCH)
    np.testing.assert_array_equal(found['logits'], PARAMS['pooled'])
    np.testing.assert_array_equal(found['label'], LABELS)
    np.testing.assert_array_equal(found['example'], BATCH['example'])


@pytest.mark.long
def test_padding_changes_nothing_that_is_predicted():
    short, long = (encoder(context_length, pooled=POOLED | {'classes': C}) for context_length in (8, 14))
    texts = ([5, 6, 7, 8, 9, 10], [11], [12, 13])
    answers = {'label': jnp.array([0, 1, 2]), 'example': jnp.arange(3)}
    params = Classification().init(short, jax.random.key(1), framed(8, *texts) | answers)
    batches = [(short, framed(8, *texts) | answers), (long, framed(14, *texts) | answers)]
    a, b = (jax.jit(Classification().predict, static_argnums=0)(model, params, batch) for model, batch in batches)
    np.testing.assert_allclose(a['logits'], b['logits'], atol=NEAR)
    rows = framed(14, *texts, None) | {'label': jnp.array([0, 1, 2, IGNORED]), 'example': jnp.array([0, 1, 2, -1])}
    losses = [loss_of(Classification(), model, params, batch)['loss'] for model, batch in [*batches, (long, rows)]]
    assert [float(loss.mean()) for loss in losses] == pytest.approx([float(losses[0].mean())] * 3, rel=NEAR)


def test_a_model_without_the_head_is_refused():
    with pytest.raises(UserError, match=r"Classification reads the head 'pooled'; config\.model\.heads has tokens"):
        loss_of(Classification(), Known((('tokens', (5, 8, C)),)), {'tokens': jnp.zeros((5, 8, C))}, BATCH)


def test_classes_with_one_name_keep_a_probability_each():
    predictions = Classification().predict(MODEL, PARAMS, BATCH)
    split = SimpleNamespace(names=('crane', 'dog', 'crane'))
    found = list(Classification().outputs(jax.device_get(predictions), split))
    names = ['crane (0)', 'dog', 'crane (2)']
    for output, log_p in zip(found, LOG_P[COUNTED], strict=True):
        assert output.probabilities == pytest.approx(dict(zip(names, np.exp(log_p), strict=True)), rel=NEAR)
        assert output.label == names[log_p.argmax()]


def test_the_baseline_says_what_is_most_frequent_in_training():
    names = ('a', 'b', 'c')
    train = SimpleNamespace(answers=np.array([1, 1, 1, 0, 2]), names=names)
    validation = SimpleNamespace(answers=np.array([0, 1, 1, 2]), names=names)
    found = majority(train, validation, 100)
    assert found['accuracy'] == 0.5
    assert found['matthews'] == 0.0
    shares = np.array([2, 4, 2]) / 8  # each seen once more than it was
    assert found['loss'] == pytest.approx(-np.log(shares[validation.answers]).mean())


def test_it_is_a_task_that_judges():
    assert isinstance(Classification(), Task)
    assert isinstance(Classification(), Evaluator)
