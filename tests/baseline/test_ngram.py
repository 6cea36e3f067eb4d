# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The trigram baseline against a plain implementation with dicts and loops."""

import math
from collections import Counter, defaultdict

import numpy as np
import pytest

from saccade.baseline import ngram
from saccade.baseline.ngram import NGram, Targets, bigram_nats, targets_of, trigram_nats
from saccade.data.rows.pack import Packed, Padded, Windows
from saccade.data.text.stream import TextSplit
from saccade.types import UserError

VOCABULARY = 7
EXACT = 1e-9  # both sides are double precision; only the order of sums differs


def _documents(seed, count=40):
    """Documents of a source in which a token depends on the two before it."""
    random = np.random.default_rng(seed)
    table = np.random.default_rng(99).dirichlet(np.full(5, 0.3), size=(7, 7))
    documents = []
    for length in random.integers(2, 30, count):
        document = [5, 6]
        while len(document) < length + 2:
            document.append(int(random.choice(5, p=table[document[-2], document[-1]])))
        documents.append(document)
    return documents


def _split(documents, pack=None, context_length=8):
    pack = pack or Packed()
    lengths = np.array([len(document) for document in documents])
    stops = np.cumsum(lengths)
    index = pack.index(np.stack([stops - lengths, stops], axis=-1), context_length, True)
    rows = pack.rows(np.concatenate(documents).astype(np.uint16), index, context_length)
    return TextSplit(rows=rows, targets=int(lengths.sum()), bytes=1, tokens=int(lengths.sum()), documents=len(lengths))


def _slow_targets(documents, context_length=8):
    """(history, word) for each target, the history at most two tokens and within its piece."""
    targets = []
    for document in documents:
        for start in range(0, len(document) - 1, context_length):
            piece = document[start : start + context_length + 1]
            targets += [(tuple(piece[max(0, at - 2) : at]), piece[at]) for at in range(1, len(piece))]
    return targets


class _Slow:
    def __init__(self, targets):
        held = {at for at in range(len(targets)) if at * 100 // len(targets) % 10 == 9}
        self.count([target for at, target in enumerate(targets) if at not in held])
        self.weights = defaultdict(lambda: 0.5)
        for _ in range(30):
            self.improve([targets[at] for at in sorted(held)])
        self.count(targets)

    def count(self, targets):
        self.followers = defaultdict(Counter)
        for history, word in targets:
            for order in range(len(history) + 1):
                self.followers[history[len(history) - order :]][word] += 1

    def levels(self, history, word):
        """(estimate, bucket, mixture) from the unigram upwards, for the histories that were seen."""
        mixture, levels = 1 / VOCABULARY, []
        for order in range(len(history) + 1):
            followers = self.followers.get(history[len(history) - order :])
            if followers:
                total = sum(followers.values())
                bucket = (order, int(math.log2(total)), int(math.log2(len(followers))))
                estimate = followers[word] / total
                mixture = self.weights[bucket] * estimate + (1 - self.weights[bucket]) * mixture
                levels.append((estimate, bucket, mixture))
        return levels, mixture

    def improve(self, held):
        drawn, reached = Counter(), Counter()
        for history, word in held:
            reach = 1.0
            for estimate, bucket, mixture in reversed(self.levels(history, word)[0]):
                stay = reach * self.weights[bucket] * estimate / mixture
                drawn[bucket] += stay
                reached[bucket] += reach
                reach -= stay
        for bucket in reached:
            self.weights[bucket] = (drawn[bucket] + 1) / (reached[bucket] + 2)

    def nats(self, targets):
        return -sum(math.log(self.levels(*target)[1]) for target in targets) / len(targets)


def test_equals_the_plain_implementation():
    train, validation = _documents(0), _documents(1, 10)
    slow = _Slow(_slow_targets(train))
    expected = slow.nats(_slow_targets(validation))
    assert trigram_nats(_split(train), _split(validation), VOCABULARY) == pytest.approx(expected, rel=EXACT)


def test_the_bigram_model_is_that_of_targets_with_one_token_before():
    train, validation = _documents(0), _documents(1, 10)
    known, asked = ([(history[-1:], word) for history, word in _slow_targets(each)] for each in (train, validation))
    found = bigram_nats(_split(train), _split(validation), VOCABULARY)
    assert found == pytest.approx(_Slow(known).nats(asked), rel=EXACT)


@pytest.mark.parametrize('pack', [Packed(), Padded(), Windows(), Windows(stride=1)], ids=str)
def test_probabilities_sum_to_one(pack):
    model = NGram.fit(targets_of(_split(_documents(0), pack), VOCABULARY), VOCABULARY)
    histories = [-1, *range(VOCABULARY**2)]
    for pair in histories:
        words = np.arange(VOCABULARY)
        last = np.full(VOCABULARY, pair % VOCABULARY)
        targets = Targets(words, (np.zeros_like(words), last, np.full(VOCABULARY, pair)))
        probabilities = model.probabilities(targets)
        assert probabilities.min() > 0
        assert probabilities.sum() == pytest.approx(1, rel=EXACT)


@pytest.mark.parametrize('pack', [Packed(), Padded(), Windows()], ids=str)
def test_targets_are_those_of_the_rows(pack):
    split = _split(_documents(0), pack)
    expected = []
    for row in split.rows:
        tokens, segments = row['tokens'].tolist(), row['segments'].tolist()
        for at in range(1, len(tokens)):
            if segments[at] == segments[at - 1] != 0:
                two = at > 1 and segments[at - 2] == segments[at]
                pair = tokens[at - 2] * VOCABULARY + tokens[at - 1] if two else -1
                expected.append((tokens[at], tokens[at - 1], pair))
    targets = targets_of(split, VOCABULARY)
    found = zip(targets.words.tolist(), *(history.tolist() for history in targets.histories[1:]), strict=True)
    assert sorted(found) == sorted(expected)


def test_overlapping_windows_count_once():
    train, validation = _documents(0), _split(_documents(1, 10))
    apart = trigram_nats(_split(train, Windows()), validation, VOCABULARY)
    assert trigram_nats(_split(train, Windows(stride=1)), validation, VOCABULARY) == apart


def test_near_the_entropy_of_a_source_it_can_learn():
    cycle = [[0, 1, 2, 3] * 50] * 20
    assert trigram_nats(_split(cycle), _split(cycle[:2]), 4) < 0.02


def test_beats_the_bigram_within_it():
    train, validation = _split(_documents(0, 400)), _split(_documents(1, 40))
    model = NGram.fit(targets_of(train, VOCABULARY), VOCABULARY)
    targets = targets_of(validation, VOCABULARY)
    blind = Targets(targets.words, (*targets.histories[:2], np.full_like(targets.words, -1)))
    trigram, bigram = (-np.log(model.probabilities(each)).mean() for each in (targets, blind))
    assert trigram < bigram - 0.05


def test_tokens_never_seen_have_a_finite_loss():
    assert math.isfinite(trigram_nats(_split([[0, 1] * 20]), _split([[2, 3] * 20]), 4))


def test_tiny_training_data():
    assert math.isfinite(trigram_nats(_split([[0, 1]]), _split([[1, 0, 1]]), 2))


@pytest.mark.parametrize('vocabulary', [6, 1 << 22])
def test_bad_vocabulary(vocabulary):
    with pytest.raises(UserError, match='vocabulary'):
        trigram_nats(_split(_documents(0)), _split(_documents(1)), vocabulary)


def test_a_long_text_is_counted_as_far_as_the_limit(monkeypatch):
    documents = [[number % 5 for number in range(start, start + 30)] for start in range(40)]
    whole = targets_of(_split(documents, Padded()), 5)
    monkeypatch.setattr(ngram, '_MOST_TARGETS', 100)
    part = targets_of(_split(documents, Padded()), 5)
    assert 100 <= len(part.words) <= 100 + 8  # up to the end of a piece of 8 targets
    np.testing.assert_array_equal(part.words, whole.words[: len(part.words)])
