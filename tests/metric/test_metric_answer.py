# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: RUF001 (texts in other scripts)
"""Answers as SQuAD counts them, against the definition and examples worked by hand."""

import string

import numpy as np
import pytest

from saccade.metric.answer import answered, exact_match, f1, normalised
from saccade.types import UserError

WORDS = ('the', 'a', 'cat', 'Cat', 'sat,', 'on', 'mat.', 'an', '--', 'theme')


def slow_normalised(text):
    """By words and letters alone: no pattern, no table."""
    kept = ''.join(letter for letter in text.lower() if letter not in string.punctuation)
    return [word for word in kept.split() if word not in ('a', 'an', 'the')]


def slow_f1(true, answer):
    """Cross each word of the answer off the true one's list, then precision and recall."""
    left, words = slow_normalised(true), slow_normalised(answer)
    count, common = len(left), 0
    for word in words:
        if word in left:
            left.remove(word)
            common += 1
    if not (words or count):
        return 1.0
    if not common:
        return 0.0
    precision, recall = common / len(words), common / count
    return 2 * precision * recall / (precision + recall)


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('The  Cat, sat\ton a mat!', 'cat sat on mat'),
        ('an A.N. other', 'other'),  # punctuation goes before articles do
        ('well-known U.S. 1,000', 'wellknown us 1000'),
        ('theatre and banana', 'theatre and banana'),
        ('The a an', ''),
        ('Ünïcode — “the” quotes', 'ünïcode — “ ” quotes'),  # ASCII punctuation alone, and a word ends at a quote
        ('', ''),
    ],
)
def test_what_makes_no_difference_is_taken_away(text, expected):
    assert normalised(text) == expected


def test_scores_are_their_definitions():
    generator = np.random.default_rng(0)
    shares = set()
    for _ in range(2000):
        true, answer = (' '.join(generator.choice(WORDS, generator.integers(1, 6))) for _ in range(2))
        assert f1([true], answer) == pytest.approx(slow_f1(true, answer))
        assert exact_match([true], answer) == (slow_normalised(true) == slow_normalised(answer))
        shares.add(round(f1([true], answer), 3))
    assert len(shares) > 5


def test_answers_worked_by_hand():
    gold = ['Denver Broncos', 'The Denver Broncos', 'Broncos']
    assert (exact_match(gold, 'the denver broncos.'), f1(gold, 'the denver broncos.')) == (1, 1)
    assert (exact_match(gold, 'Denver Broncos team'), f1(gold, 'Denver Broncos team')) == (0, pytest.approx(4 / 5))
    assert (exact_match(gold, 'Carolina'), f1(gold, 'Carolina')) == (0, 0)
    assert f1(['to be or not to be'], 'to to to') == pytest.approx(2 * 2 / (6 + 3))  # a word counts as often as in both


def test_the_nearest_true_answer_counts_wherever_it_stands():
    for gold in (['red', 'dark blue', 'green'], ['green', 'red', 'dark blue']):
        assert f1(gold, 'very dark blue') == pytest.approx(4 / 5)
        assert exact_match(gold, 'Green') == 1


@pytest.mark.parametrize('gold', [[], [''], ['', ''], ['A'], ['?', 'the']])
def test_a_question_without_an_answer_is_answered_by_nothing_alone(gold):
    for score in (exact_match, f1):
        assert score(gold, '') == 1
        assert score(gold, 'The') == 1  # as version 2.0 of the official evaluation has it: nothing is left
        assert score(gold, 'something') == 0


def test_nothing_is_no_answer_to_a_question_with_one():
    assert (exact_match(['cat'], ''), f1(['cat'], '')) == (0, 0)


def test_an_answer_of_articles_alone_is_right_as_in_version_2_of_the_official_evaluation():
    assert (exact_match(['A'], 'A'), f1(['A'], 'A')) == (1, 1)  # version 1.1 has F1 0
    assert (exact_match(['A', 'cat'], 'A'), f1(['A', 'cat'], 'A')) == (0, 0)  # only 'cat' is left of the true answers
    assert (exact_match(['A', 'cat'], 'cat'), f1(['A', 'cat'], 'a cat')) == (1, 1)


@pytest.mark.parametrize(
    ('true', 'answer', 'share'),
    [
        ('हिन्दी भाषा', 'हिन्दी भाषा', 1),
        ('हिन्दी भाषा', 'हिन्दी', 2 / 3),
        ('東京タワー', '東京', 0),  # no white space: one word
        ('ประเทศไทย', 'ไทย', 0),
        ('مدينة القاهرة', 'القاهرة', 2 / 3),
        ('Ａ', 'ａ', 1),  # full width: no article
        ('été', 'e\u0301te\u0301', 0),  # as the official evaluation: normal forms are kept
    ],
)
def test_other_scripts_have_the_words_that_white_space_makes(true, answer, share):
    assert f1([true], answer) == pytest.approx(share)
    assert exact_match([true], answer) == (share == 1)


def test_a_split_is_the_mean_of_its_questions():
    gold = [['Denver Broncos'], ['1066', 'in 1066'], [], ['blue']]
    predicted = ['Broncos', 'In 1066', '', 'red']
    measured = answered(gold, predicted)
    assert measured['exact_match'].value == pytest.approx((0 + 1 + 1 + 0) / 4)
    assert measured['f1'].value == pytest.approx((2 / 3 + 1 + 1 + 0) / 4)
    assert 0 <= measured['f1'].low < measured['f1'].value < measured['f1'].high <= 1


def test_perfect_answers_are_worth_1():
    gold = [['cat'], ['red mat', 'mat'], []]
    for measured in answered(gold, ['The cat', 'mat', '']).values():
        assert (measured.value, measured.low, measured.high) == (1, 1, 1)


def test_a_single_true_answer_and_the_answer_may_be_swapped():
    gold, predicted = ['the red cat', 'mat', 'a blue mat'], ['red cat sat', 'cat', 'blue']
    one, other = ([[true] for true in each] for each in (gold, predicted))
    assert answered(one, predicted) == answered(other, gold)


def test_as_many_answers_as_questions():
    with pytest.raises(ValueError, match='zip'):
        answered([['a'], ['b']], ['a'])
    with pytest.raises(UserError, match='no examples'):
        answered([], [])
