# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Multi-token prediction on models whose logits are known."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from test_causal_lm import BATCH, KEY, NEAR, SEGMENTS, TOKENS, V

from saccade.ops.vocabulary import OutputProjection
from saccade.task.answering import Answering
from saccade.task.causal_lm import CausalLM
from saccade.task.multi_token import MultiTokenAnswering, MultiTokenPrediction
from saccade.types import IGNORED, Task, UserError

B, T, HEADS = 2, 5, 2


class Known(nn.Module):
    """Hidden states that are its one parameter, and are the logits, whatever the tokens are."""

    vocabulary: int = V
    context_length: int = 8

    def __call__(self, tokens, context, train):
        return self.projection_ahead(tokens, context, train).logits()[:, :T]

    @nn.compact
    def projection_ahead(self, tokens, context, train):
        hidden = self.param('hidden', nn.initializers.normal(2.0), (len(tokens), (1 + HEADS) * T, V))
        return OutputProjection(hidden, jnp.eye(V), tied=False)

    def output_projection(self, tokens, context, train):
        raise NotImplementedError

    def init_state(self, tokens, capacity):
        return ()

    def step(self, tokens, segments, state):
        raise NotImplementedError


PARAMS = MultiTokenPrediction(ahead=HEADS).init(Known(), KEY, BATCH)
LOG_P = np.asarray(jax.nn.log_softmax(PARAMS['hidden']), np.float64).reshape(B, 1 + HEADS, T, V)


def totals(train=False, params=PARAMS, **settings):
    return MultiTokenPrediction(ahead=HEADS, **settings).loss(Known(), params, BATCH, KEY, train)


def places(distance):
    """Places whose token `distance` later is of the same document, found one by one."""
    return [
        (b, t)
        for b in range(B)
        for t in range(T)
        if t + distance <= T and SEGMENTS[b, t] != 0 and (SEGMENTS[b, t : t + distance + 1] == SEGMENTS[b, t]).all()
    ]


def surprise(distance):
    return [-LOG_P[b, distance - 1, t, TOKENS[b, t + distance]] for b, t in places(distance)]


@pytest.mark.parametrize('train', [False, True])
def test_each_distance_has_a_loss_and_an_accuracy_over_its_own_targets(train):
    found = totals(train)
    assert [len(places(distance)) for distance in (1, 2, 3)] == [7, 4, 2]
    for distance, prefix in [(1, ''), (2, 'ahead_2_'), (3, 'ahead_3_')]:
        loss = found['cross_entropy' if train and not prefix else f'{prefix}loss']
        assert loss.weight == len(places(distance))
        assert loss.mean() == pytest.approx(np.mean(surprise(distance)), rel=NEAR)
        hits = [LOG_P[b, distance - 1, t].argmax() == TOKENS[b, t + distance] for b, t in places(distance)]
        assert found[f'{prefix}accuracy'].mean() == pytest.approx(np.mean(hits))


@pytest.mark.parametrize('weight', [0.0, 0.3, 2.0])
def test_training_adds_the_mean_loss_of_the_heads_times_the_weight(weight):
    first, *later = (np.mean(surprise(distance)) for distance in (1, 2, 3))
    assert totals(True, weight=weight)['loss'].mean() == pytest.approx(first + weight * np.mean(later), rel=NEAR)
    assert totals(False, weight=weight)['loss'].mean() == pytest.approx(first, rel=NEAR)


def test_totals_of_rows_add_up_to_the_whole():
    def of(rows):
        params, batch = jax.tree.map(lambda leaf: leaf[rows], (PARAMS, BATCH))
        return MultiTokenPrediction(ahead=HEADS).loss(Known(), params, batch, KEY, True)['loss']

    added = jax.tree.map(lambda a, b: a + b, of(slice(0, 1)), of(slice(1, 2)))
    assert added.mean() == pytest.approx(float(totals(True)['loss'].mean()), rel=NEAR)


def test_what_is_no_target_has_no_gradient():
    gradient = jax.grad(lambda params: totals(True, params)['loss'].mean())(PARAMS)['hidden']
    by_distance = np.abs(gradient).max(axis=-1).reshape(B, 1 + HEADS, T)
    for distance in (1, 2, 3):
        assert {*zip(*np.nonzero(by_distance[:, distance - 1]), strict=True)} == {*places(distance)}


def test_logits_in_chunks_give_the_same():
    for train in (False, True):
        for name, total in totals(train, vocabulary_chunk=2).items():
            assert total.mean() == pytest.approx(float(totals(train)[name].mean()), rel=NEAR), name


def test_the_metrics_of_each_head_are_declared():
    names = [metric.name for metric in MultiTokenPrediction(ahead=2).reports]
    assert names == [
        'loss',
        'accuracy',
        'cross_entropy',
        'ahead_2_loss',
        'ahead_2_accuracy',
        'ahead_3_loss',
        'ahead_3_accuracy',
    ]
    assert {*totals(True)} == {*names}


def test_it_is_a_task_of_the_number_of_heads_of_its_model():
    assert isinstance(MultiTokenPrediction(), Task)
    with pytest.raises(UserError, match=r'task.ahead: must be 2, the number of heads in model.ahead.count, not 1'):
        MultiTokenPrediction().loss(Known(), PARAMS, BATCH, KEY, True)


def test_the_next_token_counts_as_in_causal_language_modelling():
    class Next(Known):
        def __call__(self, tokens, context, train):
            return self.variables['params']['hidden'][:, :T]

    expected = CausalLM().loss(Next(), PARAMS, BATCH, KEY, False)
    for name, total in expected.items():
        assert total.mean() == pytest.approx(float(totals()[name].mean()), rel=NEAR)


LABELS = np.array([[1, IGNORED, 5, 2, 0], [IGNORED, 3, 3, IGNORED, 4]])
ASKED = {name: value[:, :T] for name, value in BATCH.items()} | {'labels': jnp.array(LABELS)}


def test_heads_predict_the_answers_of_later_places():
    found = MultiTokenAnswering(ahead=HEADS, weight=2.0).loss(Known(), PARAMS, ASKED, KEY, True)
    means = []
    for distance, prefix in [(1, ''), (2, 'ahead_2_'), (3, 'ahead_3_')]:
        there = [
            (b, t)
            for b in range(B)
            for t in range(T - distance + 1)
            if LABELS[b, t + distance - 1] != IGNORED
            and (distance == 1 or SEGMENTS[b, t] == SEGMENTS[b, t + distance - 1])
        ]
        means.append(np.mean([-LOG_P[b, distance - 1, t, LABELS[b, t + distance - 1]] for b, t in there]))
        loss = found['cross_entropy' if distance == 1 else f'{prefix}loss']
        assert loss.weight == len(there)
        assert loss.mean() == pytest.approx(means[-1], rel=NEAR)
        assert f'{prefix}solved' in found
    assert found['loss'].mean() == pytest.approx(means[0] + 2.0 * np.mean(means[1:]), rel=NEAR)


def test_answers_count_as_without_the_heads():
    class Next(Known):
        def __call__(self, tokens, context, train):
            return self.variables['params']['hidden'][:, :T]

    found = MultiTokenAnswering(ahead=HEADS).loss(Known(), PARAMS, ASKED, KEY, False)
    for name, total in Answering().loss(Next(), PARAMS, ASKED, KEY, False).items():
        assert total.mean() == pytest.approx(float(found[name].mean()), rel=NEAR)
    with pytest.raises(UserError, match=r'task.answers: must be None'):
        MultiTokenAnswering(answers=3)
