# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Tagging by models whose logits are known, and by a small encoder."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from known_encoder import Known, blank, encoder, framed, loss_of

from saccade.metric.entity import tagged
from saccade.metric.sequence import matched
from saccade.task.tagging import Tagging, majority
from saccade.types import IGNORED, Evaluator, Part, Task

NEAR = 1e-5
NAMES = ('B-X', 'I-X', 'O')
X = IGNORED
LABELS = np.array([[X, 0, X, 1, X], [X, 2, 2, 0, X], [X, X, X, X, X]])
MODEL = Known((('tokens', (3, 5, 3)),))
BATCH = {**blank(3, 5), 'labels': jnp.array(LABELS), 'example': jnp.array([0, 1, -1])}
PARAMS = Tagging().init(MODEL, jax.random.key(0), BATCH)
LOG_P = np.asarray(jax.nn.log_softmax(PARAMS['tokens']), np.float64)
COUNTED = np.argwhere(LABELS != IGNORED)


def test_the_loss_is_the_mean_surprise_at_the_tokens_that_have_a_label():
    found = loss_of(Tagging(), MODEL, PARAMS, BATCH)
    assert found['loss'].weight == len(COUNTED) == 5
    assert found['loss'].mean() == pytest.approx(-np.mean([LOG_P[b, t, LABELS[b, t]] for b, t in COUNTED]), rel=NEAR)
    hits = [LOG_P[b, t].argmax() == LABELS[b, t] for b, t in COUNTED]
    assert found['accuracy'].mean() == pytest.approx(np.mean(hits))


def test_a_token_without_a_label_has_no_gradient():
    gradient = jax.grad(lambda params: loss_of(Tagging(), MODEL, params, BATCH)['loss'].mean())(PARAMS)['tokens']
    np.testing.assert_array_equal(gradient[LABELS == IGNORED], 0.0)
    assert (np.abs(gradient[LABELS != IGNORED]).max(axis=-1) > 0).all()


def evaluate(labels, tags, example, **settings):
    predictions = {'labels': np.array(labels), 'tags': np.array(tags), 'example': np.array(example)}
    return Tagging(**settings).evaluate(predictions, SimpleNamespace(names=NAMES))


def test_entities_are_those_of_whole_sentences():
    # Of sentence 0 the entity goes on in its second window, where one token of the first is seen again, without label.
    labels = [[X, 2, 0, X, X], [X, X, 1, 2, X], [X, 0, 2, X, X], [X] * 5]
    right = [[2, 2, 0, 1, 0], [1, 0, 1, 2, 2], [0, 0, 2, 2, 2], [0] * 5]
    found = judge(labels, right, [0, 0, 1, -1])
    assert {name: each.value for name, each in found.items()} == dict(f1=1, precision=1, recall=1, token_accuracy=1)
    wrong = [right[0], [1, 0, 2, 2, 2], right[2], right[3]]  # the entity stops at the cut
    found = judge(labels, wrong, [0, 0, 1, -1])
    assert found['f1'].value == found['recall'].value == 0.5
    assert found['token_accuracy'].value == pytest.approx(5 / 6)
    assert found['f1'].low <= 0.5 <= found['f1'].high


def test_what_is_measured_is_for_the_config_to_say():
    labels, tags = [[X, 0, 1, X], [X, 2, 2, X]], [[0, 0, 1, 0], [0, 2, 0, 0]]
    found = judge(labels, tags, [0, 1], measure=Part(matched))
    assert (found['token_accuracy'].value, found['exact_match'].value) == (0.75, 0.5)


def test_predictions_are_of_each_token():
    found = Tagging().predict(MODEL, PARAMS, BATCH)
    np.testing.assert_array_equal(found['tags'], LOG_P.argmax(axis=-1))
    np.testing.assert_array_equal(found['labels'], LABELS)
    np.testing.assert_array_equal(found['example'], BATCH['example'])


@pytest.mark.long
def test_padding_changes_nothing_that_is_predicted():
    head = {'use': 'head.each_token:EachToken', 'classes': 3}
    short, long = (encoder(context_length, tokens=head) for context_length in (6, 11))
    texts = ([5, 6, 7, 8], [11, 12])
    labels = np.array([[X, 0, 1, 2, 0, X], [X, 2, 0, X, X, X]])
    wide = np.pad(labels, ((0, 1), (0, 5)), constant_values=IGNORED)
    batch = framed(6, *texts) | {'labels': jnp.array(labels), 'example': jnp.arange(2)}
    padded = framed(11, *texts, None) | {'labels': jnp.array(wide), 'example': jnp.array([0, 1, -1])}
    params = Tagging().init(short, jax.random.key(1), batch)
    losses = [loss_of(Tagging(), *each)['loss'] for each in ((short, params, batch), (long, params, padded))]
    assert losses[0].weight == losses[1].weight == 6
    assert losses[0].mean() == pytest.approx(float(losses[1].mean()), rel=NEAR)


def test_the_baseline_says_what_is_most_frequent_in_training():
    train = SimpleNamespace(sentences=lambda: [np.array([2, 2, 0]), np.array([1])], names=NAMES)
    validation = SimpleNamespace(sentences=lambda: [np.array([2, 0, 1]), np.array([2])], names=NAMES)
    found = majority(train, validation, 100, measure=Part(tagged))
    assert (found['token_accuracy'], found['f1']) == (0.5, 0.0)
    shares = np.array([2, 2, 3]) / 7
    assert found['loss'] == pytest.approx(-np.log(shares[[2, 0, 1, 2]]).mean())
    assert majority(train, validation, 100, measure=Part(matched))['exact_match'] == 0.5


def test_it_is_a_task_that_judges():
    assert isinstance(Tagging(), Task)
    assert isinstance(Tagging(), Evaluator)
