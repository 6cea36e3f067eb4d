# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Exact match and F1 of answers against the rules of both versions of SQuAD's evaluation, written again as loops.

Version 1.1 and 2.0: https://rajpurkar.github.io/SQuAD-explorer/. Ours is version 2.0.
"""

import itertools
import re
import string
import unicodedata

import numpy as np
import pytest

from saccade.metric.answer import answered, exact_match, f1

pytestmark = pytest.mark.oracle

ANSWERS = (
    *(
        '',
        ' ',
        'a',
        'A',
        'The',
        '?',
        '--',
        'an a the',
        'cat',
        'The cat.',
        'cat cat',
        'the cat sat',
        'Sat, cat!',
        'theatre',
    ),
    *('हिन्दी', 'हिन्दी भाषा', 'ประเทศไทย', 'தமிழ் மொழி', '東京', '東京 タワー', 'العَرَبِيَّة لغة'),
    *('été', 'e\u0301te\u0301', 'a\u0301', 'İ', 'ß', '—'),
)
SETS = [(), *itertools.combinations(ANSWERS, 1), *itertools.combinations(ANSWERS, 2)]


def words(text):
    """Lower case, ASCII punctuation out, then the articles that are words, then white space."""
    kept = ''.join(character for character in text.lower() if character not in string.punctuation)
    return re.sub(r'\b(a|an|the)\b', ' ', kept).split()


def overlap(true, guessed):
    left, common = list(true), 0
    for word in guessed:
        if word in left:
            left.remove(word)
            common += 1
    if not common:
        return 0.0
    precision, recall = common / len(guessed), common / len(true)
    return 2 * precision * recall / (precision + recall)


def version_1(gold, answer):
    """The best of the true answers, each as it is."""
    guessed = words(answer)
    return max(float(words(true) == guessed) for true in gold), max(overlap(words(true), guessed) for true in gold)


def version_2(gold, answer):
    """True answers without a word are dropped; none stands for no answer; two empty answers agree."""
    kept, guessed = [words(true) for true in gold if words(true)] or [[]], words(answer)
    shares = [overlap(true, guessed) if true and guessed else float(true == guessed) for true in kept]
    return max(float(true == guessed) for true in kept), max(shares)


@pytest.mark.parametrize('answer', ANSWERS)
def test_every_answer_counts_as_in_version_2(answer):
    for gold in SETS:
        assert (exact_match(gold, answer), f1(gold, answer)) == pytest.approx(version_2(gold, answer)), gold


def test_both_versions_agree_where_every_true_answer_has_a_word():
    some = [gold for gold in SETS if gold and all(map(words, gold))]
    for gold, answer in itertools.product(some, ANSWERS):
        assert version_1(gold, answer) == version_2(gold, answer)
    assert version_1(['A'], 'A') == (1, 0)  # what version 2.0 mended
    assert version_2(['A'], 'A') == (1, 1)


def test_a_split_is_the_mean_over_its_questions():
    generator = np.random.default_rng(0)
    gold = [SETS[number] for number in generator.integers(len(SETS), size=200)]
    guesses = [true[0] if true and number % 2 else '' for number, true in enumerate(gold)]
    expected = np.mean([version_2(*pair) for pair in zip(gold, guesses, strict=True)], axis=0)
    found = answered(gold, guesses)
    assert [found['exact_match'].value, found['f1'].value] == pytest.approx(expected.tolist())


def test_normal_forms_are_different_answers_in_both_versions():
    one, other = 'été', unicodedata.normalize('NFD', 'été')
    assert version_1([one], other) == version_2([one], other) == (exact_match([one], other), f1([one], other)) == (0, 0)
