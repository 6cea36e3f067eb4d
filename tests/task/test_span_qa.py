# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Answers to questions by models whose logits are known: the loss, the spans, and what they are worth."""

import re
import string
from collections import Counter

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from saccade.data.rows.frame import Frame
from saccade.task.span_qa import ENDS, PredictedAnswer, SpanQA, places
from saccade.types import Evaluator, Task, UserError

NEAR = 1e-5
T = 12
KEY = jax.random.key(0)
FRAME = Frame.of_bert(T, opens=1, closes=2)
ASKED, WINDOWS = ([5], [6, 7], [5, 6, 7]), ([8, 9, 10, 11, 12], [8], [9, 10, 11])
TARGETS = ((3, 5), (0, 0), (7, 7))  # of three rows; the second has no answer, and a fourth is padding
INSIDE = [[0, 3, 4, 5, 6, 7], [0, 4], [0, 5, 6, 7], [0]]


def row(asked, window):
    return FRAME.row(asked, window) | {'window': FRAME.scattered(0, [0] * len(asked), [1] * len(window))}


def rows():
    made = [row(*texts) for texts in zip(ASKED, WINDOWS, strict=True)]
    made.append(FRAME.padding() | {'window': np.zeros(T, np.int32)})
    batch = {name: jnp.stack([row[name] for row in made]) for name in made[0]}
    ends = {name: jnp.array([*(target[end] for target in TARGETS), 0]) for end, name in enumerate(ENDS)}
    return {**batch, **ends, 'example': jnp.array([0, 0, 1, -1])}


class Known(nn.Module):
    """Logits that are its one parameter, whatever the tokens are."""

    vocabulary: int = 16
    context_length: int = T
    reads: str = 'tokens'
    heads: tuple = (('tokens', 2),)

    @nn.compact
    def __call__(self, tokens, context, train, at=None):
        assert tokens.shape == context.types.shape == context.segments.shape
        return {
            name: self.param(f'{name}_logits', nn.initializers.normal(2.0), (*tokens.shape, classes))
            for name, classes in self.heads
        }


BATCH = rows()
PARAMS = SpanQA().init(Known(), KEY, BATCH)
LOGITS = np.asarray(PARAMS['tokens_logits'], np.float64)


def loss(params=PARAMS, batch=BATCH):
    return SpanQA().loss(Known(), params, batch, KEY, True)


def log_p(logits):
    """The logarithm of the softmax over the places of each row alone, one number at a time."""
    found = np.full(logits.shape, -np.inf)
    for row, inside in enumerate(INSIDE):
        found[row, inside] = logits[row, inside] - np.log(np.exp(logits[row, inside]).sum())
    return found


def test_it_is_a_task_that_judges():
    assert isinstance(SpanQA(), Task)
    assert isinstance(SpanQA(), Evaluator)


def test_places_are_the_window_and_the_first_token():
    assert [np.flatnonzero(row).tolist() for row in places(BATCH)] == INSIDE


def test_a_window_to_the_end_of_the_row_is_a_place_as_a_whole():
    full = row([5], list(range(FRAME.room(2) - 1)))
    batch = {name: jnp.array(array)[None] for name, array in full.items()}
    assert np.flatnonzero(places(batch)[0]).tolist() == [0, *range(3, T - 1)]


@pytest.mark.long
def test_the_loss_is_the_mean_surprise_at_both_ends():
    ends = [log_p(LOGITS[..., end])[row, target[end]] for row, target in enumerate(TARGETS) for end in range(2)]
    assert loss()['loss'].weight == len(TARGETS)
    assert loss()['loss'].mean() == pytest.approx(-np.mean(ends), rel=NEAR)


def test_accuracy_is_the_share_of_rows_whose_end_is_the_likeliest():
    for end, name in enumerate(ENDS):
        likeliest = log_p(LOGITS[..., end])[: len(TARGETS)].argmax(axis=-1)
        expected = np.mean([likeliest[row] == target[end] for row, target in enumerate(TARGETS)])
        assert loss()[f'{name}_accuracy'].mean() == pytest.approx(expected)
    targets = jnp.stack([BATCH[name] for name in ENDS], axis=-1)
    sure = {'tokens_logits': 10.0 * jnp.swapaxes(jax.nn.one_hot(targets, T), -1, -2)}
    assert [loss(sure)[f'{name}_accuracy'].mean() for name in ENDS] == [1.0, 1.0]


@pytest.mark.long
def test_question_separators_and_padding_have_no_gradient():
    gradient = jax.grad(lambda params: loss(params)['loss'].mean())(PARAMS)['tokens_logits']
    inside = np.zeros((len(INSIDE), T), bool)
    for row, at in enumerate(INSIDE[: len(TARGETS)]):
        inside[row, at] = True
    assert np.isfinite(gradient).all()
    np.testing.assert_array_equal(gradient[~inside], 0.0)
    assert (np.abs(gradient[inside]) > 0).all()


@pytest.mark.long
def test_totals_of_parts_add_up_to_the_whole():
    halves = [jax.tree.map(lambda leaf, at=at: leaf[at : at + 2], (PARAMS, BATCH)) for at in (0, 2)]
    added = jax.tree.map(lambda a, b: a + b, *(loss(*half)['loss'] for half in halves))
    assert added.mean() == pytest.approx(float(loss()['loss'].mean()), rel=NEAR)


def test_predictions_are_the_logits_of_places():
    found = SpanQA().predict(Known(), PARAMS, BATCH)
    for end, name in enumerate(ENDS):
        for row, inside in enumerate(INSIDE):
            assert np.flatnonzero(np.isfinite(found[name][row])).tolist() == inside
            np.testing.assert_allclose(found[name][row, inside], LOGITS[row, inside, end], rtol=NEAR)


@pytest.mark.parametrize(
    ('heads', 'message'),
    [
        ((('tokens', 3),), "the head 'tokens' needs classes=2, not 3"),
        ((('pooled', 2),), "reads the head 'tokens'; config.model.heads has pooled"),
    ],
)
def test_another_head_is_refused(heads, message):
    model = Known(heads=heads)
    params = SpanQA().init(model, KEY, BATCH)
    with pytest.raises(UserError, match=message):
        SpanQA().loss(model, params, BATCH, KEY, True)


class Asked:
    """Questions of a few windows each, whose tokens are words: the text of a span says which row it is of."""

    def __init__(self, windows, gold=None):
        self.examples = np.repeat(np.arange(len(windows)), windows)
        self._gold = gold

    def gold(self, example):
        return self._gold[example]

    def place(self, row, start, stop):
        return 100 * row + start, 100 * row + stop

    def text(self, row, start, stop):
        return ' '.join(f'{row}.{token}' for token in range(start, stop + 1))


def predicted(split, more=0):
    """Logits of the rows of a split, and of some rows of padding; the places of a window are one stretch."""
    generator = np.random.default_rng(1)
    count = len(split.examples) + more
    found = {name: generator.normal(size=(count, T)).astype(np.float32) * 2 for name in ENDS}
    for row in range(count):
        begins, length = generator.integers(2, 5), generator.integers(1, 6)
        outside = [at for at in range(1, T) if not begins <= at < begins + length]
        for name in ENDS:
            found[name][row, outside] = -np.inf
    return found


def answered_one_by_one(split, found, longest, null):
    """For each question the best span of all windows and its score, by looking at every one."""
    scores = {name: logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True)) for name, logits in found.items()}
    answers = []
    for example in range(split.examples.max() + 1):
        spans = {
            (row, i, j): scores['start'][row, i] + scores['stop'][row, j]
            for row in np.flatnonzero(split.examples == example)
            for i in range(1, T)
            for j in range(i, min(T, i + longest))
        }
        nothing = min(
            scores['start'][row, 0] + scores['stop'][row, 0] for row in np.flatnonzero(split.examples == example)
        )
        best = max(spans, key=spans.get)
        text = '' if null is not None and spans[best] <= nothing + null else split.text(*best)
        answers.append((text, spans[best], nothing))
    return answers


@pytest.mark.parametrize('longest', [1, 3, 30])
@pytest.mark.parametrize('null', [None, 0.0, -2.0, 2.0])
def test_answers_are_the_best_spans_of_all_windows(longest, null):
    split = Asked(windows=[1, 3, 2, 4, 1, 5, 2, 2, 3, 1])
    found = predicted(split, more=3)
    answers = list(SpanQA(longest, null).outputs(found, split))
    rows = {name: logits[: len(split.examples)] for name, logits in found.items()}
    expected = answered_one_by_one(split, rows, longest, null)
    assert [answer.example for answer in answers] == list(range(10))
    assert [answer.text for answer in answers] == [text for text, _, _ in expected]
    np.testing.assert_allclose([answer.score for answer in answers], [score for _, score, _ in expected], rtol=NEAR)
    np.testing.assert_allclose([answer.null_score for answer in answers], [null for *_, null in expected], rtol=NEAR)


def test_an_answer_has_its_place():
    split = Asked(windows=[2, 1])
    for answer in SpanQA().outputs(predicted(split), split):
        words = answer.text.split()
        ends = [int(row) * 100 + int(token) for row, token in (word.split('.') for word in (words[0], words[-1]))]
        assert [answer.start, answer.stop] == ends


def test_a_higher_threshold_leaves_more_questions_without_an_answer():
    split = Asked(windows=[2] * 30)
    found = predicted(split)
    counts = [sum(not answer.text for answer in SpanQA(null=null).outputs(found, split)) for null in (-50.0, 2.0, 50.0)]
    assert counts[0] == 0 < counts[1] < counts[2] == 30


def test_a_context_without_a_token_has_no_answer():
    split, nowhere = Asked(windows=[1]), np.full((1, T), -np.inf, np.float32)
    nowhere[0, 0] = 1.0
    (answer,) = SpanQA().outputs(dict.fromkeys(ENDS, nowhere), split)
    assert (answer.text, answer.score, answer.null_score) == ('', -np.inf, 0.0)


def normal(text):
    """As in SQuAD's evaluate-v1.1.py: lower case, no punctuation, no articles, single spaces."""
    text = ''.join(character for character in text.lower() if character not in string.punctuation)
    return ' '.join(re.sub(r'\b(a|an|the)\b', ' ', text).split())


def official(gold, answer):
    """Exact match and F1 of one question, as in evaluate-v2.0.py."""
    gold = [text for text in gold if normal(text)] or ['']
    matches = [float(normal(text) == normal(answer)) for text in gold]
    overlaps = []
    for text in gold:
        true, guessed = normal(text).split(), normal(answer).split()
        common = sum((Counter(true) & Counter(guessed)).values())
        none = not true or not guessed
        overlaps.append(float(true == guessed) if none else 2 * common / (len(true) + len(guessed)))
    return max(matches), max(overlaps)


@pytest.mark.parametrize('null', [None, 0.0])
def test_exact_match_and_f1_are_those_of_squad(null):
    windows = [1, 3, 2, 4, 1, 5, 2, 2, 3, 1]
    found = predicted(Asked(windows), more=2)
    answers = [answer.text for answer in SpanQA(null=null).outputs(found, Asked(windows))]
    spoiled = (
        lambda text: [f'The {text.upper() or "one"}!', 'other'],
        lambda text: [f'{text} and more', text.split()[-1] if text else 'some'],
        lambda text: [],
        lambda text: ['nothing of it'],
    )
    gold = [spoiled[number % len(spoiled)](text) for number, text in enumerate(answers)]
    expected = np.mean([official(*pair) for pair in zip(gold, answers, strict=True)], axis=0)
    judged = SpanQA(null=null).evaluate(found, Asked(windows, gold))
    assert [judged[name].value for name in ('exact_match', 'f1')] == pytest.approx(expected.tolist())
    assert 0 < expected[0] < expected[1] < 1
    assert all(judged[name].low <= judged[name].value <= judged[name].high for name in judged)


def test_an_evaluation_of_some_batches_judges_the_questions_it_has_seen():
    windows = [2, 1, 3, 2]
    found = {name: logits[:4] for name, logits in predicted(Asked(windows)).items()}
    assert [answer.example for answer in SpanQA().outputs(found, Asked(windows))] == [0, 1, 2]


def test_a_score_that_rounds_to_zero_has_no_sign():
    lines = PredictedAnswer(0, 'Ada', 0, 3, score=-1e-9, null_score=-0.0).lines({'question': 'Who?'})
    assert lines[-1] == 'score     0.000 nats (100.0%); no answer: 0.000 nats (100.0%)'
