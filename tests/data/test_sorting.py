# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Drawn sequences of numbers and what stands in each place once they are in order."""

import numpy as np
import pytest

from saccade.data.pipeline import eval_batches
from saccade.data.synthetic.sorting import Sorting
from saccade.data.tokenizer.file import open_tokenizer
from saccade.types import IGNORED, Data, UserError

SORTING = Sorting(context_length=9, length=6, highest=20, train=500, validation=50)


def numbers(row, tokenizer):
    return [int(word) for word in tokenizer.decode(row['tokens']).split()]


def test_the_label_of_a_place_is_the_number_that_stands_there_once_all_are_in_order(tmp_path):
    prepared = SORTING.prepare(tmp_path)
    for split, count in zip(prepared.splits.values(), (500, 50), strict=True):
        assert len(split.rows) == count
        for number in range(count):
            row = split.rows[number]
            given = numbers(row, prepared.processor)
            labels = row['labels'][row['labels'] != IGNORED]
            assert len(given) == 6
            assert [int(split.names[label]) for label in labels] == sorted(given)
            assert np.flatnonzero(row['labels'] != IGNORED).tolist() == list(range(1, 7))  # after [CLS]


def test_numbers_are_below_the_highest_and_all_occur(tmp_path):
    prepared = SORTING.prepare(tmp_path)
    rows = prepared.splits['train'].rows
    counts = np.bincount([n for row in range(500) for n in numbers(rows[row], prepared.processor)], minlength=20)
    assert len(counts) == 20
    assert counts.min() > 3000 / 20 / 2
    assert prepared.processor.size == 20 + 5
    assert (prepared.splits['train'].targets, prepared.splits['train'].unit) == (3000, 'numbers')


def test_nothing_of_validation_is_in_training(tmp_path):
    prepared = Sorting(context_length=4, length=2, highest=10, train=1000, validation=30).prepare(tmp_path)
    seen = {
        name: {tuple(numbers(split.rows[row], prepared.processor)) for row in range(len(split.rows))}
        for name, split in prepared.splits.items()
    }
    assert seen['train']
    assert not seen['train'] & seen['validation']


def test_the_same_are_drawn_each_time(tmp_path):
    first, again = (SORTING.prepare(tmp_path).splits['train'].rows[7] for _ in range(2))
    assert np.array_equal(first['tokens'], again['tokens'])


def test_batches_are_as_announced(tmp_path):
    (*_, last) = eval_batches(SORTING.prepare(tmp_path).splits['validation'], 4)
    announced = SORTING.batch_like(4)
    assert {name: (array.shape, array.dtype) for name, array in last.items()} == {
        name: (like.shape, like.dtype) for name, like in announced.items()
    }


def test_a_tokenizer_that_is_given_is_used_or_refused(tmp_path):
    SORTING.prepare(tmp_path).processor.save(tmp_path)
    fewer = Sorting(context_length=8, length=6, highest=10)
    assert fewer.prepare(tmp_path, open_tokenizer(tmp_path / 'tokenizer.json')).processor.size == 25
    more = Sorting(context_length=8, length=6, highest=30)
    with pytest.raises(UserError, match='no separate token for each number below 30'):
        more.prepare(tmp_path, open_tokenizer(tmp_path / 'tokenizer.json'))


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        (dict(context_length=7), r'data\.context_length: 6 numbers need 8 tokens, not 7'),
        (dict(length=1, highest=2), 'so few distinct sequences that validation leaves none for training'),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, changes, message):
    with pytest.raises(UserError, match=message):
        Sorting(**dict(context_length=9, length=6, highest=20) | changes).prepare(tmp_path)


def test_it_is_data():
    assert isinstance(SORTING, Data)
