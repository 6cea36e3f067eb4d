# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Entities of BIO tags, against a token-by-token count of starts and ends as conlleval describes them."""

import itertools
import re

import numpy as np
import pytest

from saccade.metric.entity import entities, require_bio, tagged, tally
from saccade.types import UserError

TAGS = ('O', 'B-X', 'I-X', 'B-Y', 'I-Y')
EVERY = [list(tags) for length in range(5) for tags in itertools.product(TAGS, repeat=length)]


def starts(before, tag):
    """Between two tags, does an entity start: at a B, and at an I after another type or after none."""
    return tag[0] == 'B' or (tag[0] == 'I' and (before == 'O' or before[2:] != tag[2:]))


def ends(tag, after):
    """And does one end: before anything but an I of its type."""
    return tag != 'O' and after != f'I-{tag[2:]}'


def slow_counts(gold, predicted):
    """Walk both sequences at once; an entity is right if both start it together, alike, and end it together."""
    found = guessed = true = 0
    right_so_far = False
    for at in range(len(gold)):
        (g0, g1, g2), (p0, p1, p2) = (['O', *tags, 'O'][at : at + 3] for tags in (gold, predicted))
        guessed, true = guessed + starts(p0, p1), true + starts(g0, g1)
        if starts(g0, g1) or starts(p0, p1):
            right_so_far = starts(g0, g1) and starts(p0, p1) and g1[2:] == p1[2:]
        if ends(g1, g2) or ends(p1, p2):
            found += right_so_far and ends(g1, g2) and ends(p1, p2)
            right_so_far = False
    return [found, guessed, true, sum(g == p for g, p in zip(gold, predicted, strict=True)), len(gold)]


def tags_of(text):
    return text.split()


def drawn(seed, sentences=40):
    """Valid sentences, and guesses that keep most of their tags."""
    generator = np.random.default_rng(seed)
    valid = [tags for tags in EVERY if len(tags) == 4 and is_bio(tags)]
    gold = [valid[at] for at in generator.integers(0, len(valid), sentences)]
    return gold, [[tag if generator.random() < 0.7 else generator.choice(TAGS) for tag in tags] for tags in gold]


def is_bio(tags):
    """A sentence of BIO as a regular expression."""
    return re.fullmatch('(O |B-X (I-X )*|B-Y (I-Y )*)*', ''.join(f'{tag} ' for tag in tags)) is not None


def test_sentences_worked_by_hand():
    assert entities(tags_of('B-PER I-PER O B-LOC B-LOC I-LOC')) == [('PER', 0, 2), ('LOC', 3, 4), ('LOC', 4, 6)]
    assert entities(tags_of('O O')) == entities([]) == []
    assert entities(tags_of('B-work-of-art I-work-of-art')) == [('work-of-art', 0, 2)]


def test_an_i_that_goes_on_with_nothing_begins_an_entity():
    assert entities(tags_of('I-PER I-PER O I-LOC')) == [('PER', 0, 2), ('LOC', 3, 4)]
    assert entities(tags_of('B-PER I-LOC I-LOC I-PER')) == [('PER', 0, 1), ('LOC', 1, 3), ('PER', 3, 4)]
    assert entities(tags_of('B-PER O I-PER')) == [('PER', 0, 1), ('PER', 2, 3)]


def test_counts_are_those_of_walking_both_sequences():
    generator = np.random.default_rng(0)
    long = [tags for tags in EVERY if len(tags) == 4]
    gold, predicted = ([long[at] for at in generator.integers(0, len(long), 3000)] for _ in range(2))
    _, near = drawn(1, 3000)
    for guesses in (predicted, near, [tags[::-1] for tags in gold]):
        expected = [slow_counts(*pair) for pair in zip(gold, guesses, strict=True)]
        np.testing.assert_array_equal(tally(gold, guesses), expected)


def test_every_short_sequence_has_the_entities_that_start_in_it():
    for tags in EVERY:
        around = ['O', *tags, 'O']
        begun = [at for at in range(len(tags)) if starts(around[at], around[at + 1])]
        ended = [at + 1 for at in range(len(tags)) if ends(around[at + 1], around[at + 2])]
        kinds = [tags[at][2:] for at in begun]
        assert entities(tags) == list(zip(kinds, begun, ended, strict=True))


def test_metrics_worked_by_hand():
    gold = [tags_of('B-PER I-PER O B-LOC'), tags_of('O B-ORG I-ORG'), tags_of('O O')]
    predicted = [tags_of('B-PER I-PER O B-ORG'), tags_of('O B-ORG O'), tags_of('B-LOC B-LOC')]
    measured = {name: each.value for name, each in tagged(gold, predicted).items()}
    assert measured == pytest.approx({'f1': 2 / 8, 'precision': 1 / 5, 'recall': 1 / 3, 'token_accuracy': 5 / 9})


def test_perfect_predictions_are_worth_1():
    gold, _ = drawn(2)
    for measured in tagged(gold, gold).values():
        assert (measured.value, measured.low, measured.high) == (1, 1, 1)


def test_swapping_swaps_precision_and_recall():
    gold, predicted = drawn(3)
    one, other = tagged(gold, predicted), tagged(predicted, gold)
    assert one['precision'].value != one['recall'].value
    turned = {'f1': 'f1', 'precision': 'recall', 'recall': 'precision', 'token_accuracy': 'token_accuracy'}
    assert {name: each.value for name, each in one.items()} == {name: other[turned[name]].value for name in one}


def test_sentences_are_drawn_and_not_their_entities():
    gold = [['B-X'] * 8, ['B-X'] * 8] * 5
    predicted = [['B-X'] * 8, ['O'] * 8] * 5
    alone = [[tag] for tags in predicted for tag in tags]
    together, apart = tagged(gold, predicted)['recall'], tagged([['B-X']] * 80, alone)['recall']
    assert together.value == apart.value == 0.5
    assert together.high - together.low > 2 * (apart.high - apart.low)


def test_no_entities_on_either_side_are_worth_0():
    measured = tagged([['O', 'O']], [['O', 'O']])
    assert [measured[name].value for name in ('f1', 'precision', 'recall')] == [0, 0, 0]
    assert measured['token_accuracy'].value == 1


def test_no_sentences_are_refused():
    with pytest.raises(UserError, match='no examples'):
        tagged([], [])


def test_sentences_of_other_lengths_are_an_error():
    with pytest.raises(ValueError, match='zip'):
        tagged([['O', 'O']], [['O']])
    with pytest.raises(ValueError, match='zip'):
        tagged([['O'], ['O']], [['O']])


def test_exactly_the_sequences_that_are_bio_pass():
    refused = 0
    for tags in EVERY:
        if is_bio(tags):
            require_bio(tags, 'here')
        else:
            refused += 1
            with pytest.raises(UserError, match=r"^here: tag \d, 'I-"):
                require_bio(tags, 'here')
    assert 0 < refused < len(EVERY)


@pytest.mark.parametrize(
    ('tags', 'message'),
    [
        ('O I-PER', "train.conll, sentence 3: tag 2, 'I-PER', follows 'O': an entity begins with B-PER"),
        ('B-LOC I-PER', "train.conll, sentence 3: tag 2, 'I-PER', follows 'B-LOC': an entity begins with B-PER"),
        ('I-PER', "train.conll, sentence 3: tag 1, 'I-PER', is the first: an entity begins with B-PER"),
        ('O S-PER', "train.conll, sentence 3: tag 2 is 'S-PER'"),
        ('B-', "train.conll, sentence 3: tag 1 is 'B-'"),
        ('B', "train.conll, sentence 3: tag 1 is 'B'"),
        ('o', "train.conll, sentence 3: tag 1 is 'o'"),
    ],
)
def test_what_is_no_bio_is_refused_in_one_line(tags, message):
    with pytest.raises(UserError, match=f'^{re.escape(message)}'):
        require_bio(tags_of(tags), 'train.conll, sentence 3')
