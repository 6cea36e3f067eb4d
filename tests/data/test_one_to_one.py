# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Words that translate one by one: what is written of them, and what tells where the next one is read."""

import numpy as np
import pytest

from saccade.data.synthetic.drawing import Draws
from saccade.data.synthetic.generated import PairGenerator
from saccade.data.synthetic.one_to_one import OneToOne, Permuted
from saccade.types import UserError

SYMBOLS, LENGTH, ROWS = 12, 6, 400


def words(text, letter):
    assert all(word.startswith(letter) for word in text.split())
    return [int(word[1:]) for word in text.split()]


def pairs(generator):
    drawn = (generator.pair(Draws(0, 0, row)) for row in range(ROWS))
    return [(words(pair.source, 'x'), words(pair.target, 'y')) for pair in drawn]


def test_each_word_is_written_where_it_was_read():
    generator = OneToOne(symbols=SYMBOLS, shortest=1, longest=LENGTH)
    assert isinstance(generator, PairGenerator)
    found = pairs(generator)
    assert all(source == target for source, target in found)
    assert {len(source) for source, _ in found} == set(range(1, LENGTH + 1))
    assert {word for source, _ in found for word in source} == set(range(SYMBOLS))


def test_permuted_words_are_written_once_around_the_circle():
    for source, target in pairs(Permuted(symbols=SYMBOLS, shortest=LENGTH, longest=LENGTH)):
        assert target[0] == source[0]
        assert sorted(target) == sorted(set(source))
        steps = [(after - before) % SYMBOLS for before, after in zip(target, target[1:] + target[:1], strict=True)]
        assert sum(steps) == SYMBOLS  # once around, back to the first


def test_the_time_tells_nothing_of_the_permuted_words():
    """Each word is about as likely at each time of the target, and is read from each later place as often."""
    found = pairs(Permuted(symbols=SYMBOLS, shortest=LENGTH, longest=LENGTH))
    written = np.array([target for _, target in found])
    counts = np.stack([np.bincount(at, minlength=SYMBOLS) for at in written.T])
    assert counts.min() > 0.4 * ROWS / SYMBOLS
    places = np.array([[source.index(word) for word in target] for source, target in found])
    read = np.stack([np.bincount(at, minlength=LENGTH)[1:] for at in places[:, 1:].T])
    assert read.min() > 0.6 * ROWS / (LENGTH - 1)


def test_different_words_cannot_be_more_than_there_are():
    with pytest.raises(UserError, match='13 distinct words cannot be drawn of 12 symbols'):
        Permuted(symbols=12, shortest=1, longest=13)
