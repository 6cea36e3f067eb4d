# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Recall and reciprocal ranks by hand, and a baseline that counts words."""

from types import SimpleNamespace

import numpy as np
import pytest

from saccade.data.rows.ragged import Ragged
from saccade.metric.retrieval import Distinct, ranks, retrieved
from saccade.task import cosine_regression, multiple_negatives
from saccade.types import UserError


def test_a_rank_counts_all_that_is_at_least_as_good():
    corpus = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [0.6, 0.8]])
    queries = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    assert ranks(queries, corpus, np.array([0, 3, 2])).tolist() == [1, 3, 2]


def test_the_rank_is_that_of_the_best_relevant_text_among_those_that_are_not():
    corpus = np.array([[0.9, 0.0], [0.8, 0.0], [0.7, 0.0], [0.6, 0.0]])
    query = np.array([[1.0, 0.0]])
    assert [ranks(query, corpus, [right]).tolist() for right in ([0, 1], [1, 2], [3, 2], [3])] == [[1], [2], [3], [4]]


def test_rows_that_repeat_a_query_or_a_text_are_one():
    found = Distinct.of(['a', 'b', 'a', 'c', 'a'], ['x', 'y', 'z', 'x', 'x'])
    assert (found.queries, found.texts) == ([0, 1, 3], [0, 1, 2])
    assert found.right == [[0, 2], [1], [0]]


def test_recall_and_mean_reciprocal_rank_of_known_ranks():
    found = retrieved(np.array([1, 2, 7, 20]))
    assert {name: each.value for name, each in found.items()} == pytest.approx(
        {'recall_at_1': 1 / 4, 'recall_at_5': 2 / 4, 'recall_at_10': 3 / 4, 'mrr': (1 + 1 / 2 + 1 / 7 + 1 / 20) / 4}
    )


def test_a_model_that_says_the_same_of_all_finds_nothing():
    same = np.ones((20, 3))
    assert retrieved(ranks(same, same, np.arange(20)))['recall_at_10'].value == 0.0


def test_a_score_that_is_no_number_is_found_last():
    """A model that diverged finds nothing, and a text that cannot be compared stands before the right one."""
    lost = np.full((20, 3), np.nan)
    assert {name: each.value for name, each in retrieved(ranks(lost, lost, np.arange(20))).items()} == pytest.approx(
        {'recall_at_1': 0, 'recall_at_5': 0, 'recall_at_10': 0, 'mrr': 1 / 20}
    )
    corpus = np.array([[1.0, 0.0], [np.nan, 0.0], [0.0, 1.0]])
    assert ranks(corpus[[0, 2]], corpus, np.array([0, 2])).tolist() == [2, 2]


def test_no_queries_are_refused():
    with pytest.raises(UserError, match='no queries'):
        retrieved(ranks(np.zeros((0, 2)), np.zeros((3, 2)), np.zeros(0, np.int64)))


def of(*texts):
    return Ragged.of(np.array([token for text in texts for token in text], np.int64), np.array([*map(len, texts)]))


def test_a_bag_of_words_is_compared_by_the_cosine_of_its_counts():
    texts = of([0, 1, 1], [2, 3], [4]), of([1, 1], [2, 3], [0])
    rows = SimpleNamespace(texts=texts)
    found = multiple_negatives.bag_of_words(None, SimpleNamespace(rows=rows), 5)
    # Of the third text nothing is found: its cosine with each is 0, so that it has the last rank.
    assert found['recall_at_1'] == pytest.approx(2 / 3)
    assert found['mrr'] == pytest.approx((1 + 1 + 1 / 3) / 3)
    cosines = np.array([4 / (np.sqrt(5) * 2), 1.0, 0.0])
    answers = np.array([3.0, 5.0, 0.0])
    split = SimpleNamespace(rows=rows, answers=answers)
    assert cosine_regression.bag_of_words(None, split, 5, highest=5.0)['loss'] == pytest.approx(
        ((cosines - answers / 5) ** 2).mean()
    )
