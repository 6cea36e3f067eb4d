# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sets of coloured points and of numbers: what a set holds, and its class or value."""

import numpy as np
import pytest

from saccade.data.pipeline import eval_batches
from saccade.data.synthetic.largest import LargestNumber
from saccade.data.synthetic.sets import COLOURS, ColouredPoints
from saccade.types import IGNORED, UserError

POINTS = ColouredPoints(context_length=12, fewest=5, dimensions=4, train=400, validation=50)


@pytest.fixture(scope='module')
def prepared(tmp_path_factory):
    return POINTS.prepare(tmp_path_factory.mktemp('cache'))


def members(prepared, name, row):
    """Points, colours and who asks, as they were drawn."""
    split, scale = prepared.splits[name], prepared.processor
    frames = split.rows[row]['frames'][split.rows[row]['segments'] != 0]
    return np.split(np.round(frames * scale.deviation + scale.mean, 4), [4, 4 + len(COLOURS)], axis=-1)


def test_the_class_is_the_colour_of_the_one_point_that_is_asked_for(prepared):
    lengths = set()
    for row, label in enumerate(prepared.splits['train'].answers):
        points, colours, asks = members(prepared, 'train', row)
        assert asks.ravel().tolist() == [1, *[0] * (len(asks) - 1)]
        assert (np.abs(points) == 1).all()
        assert (colours.sum(axis=-1) == 1 - asks.ravel()).all()
        (asked,) = np.flatnonzero((points[1:] == points[0]).all(axis=-1))
        assert len(np.unique(points[1:], axis=0)) == len(points) - 1
        assert colours[1 + asked].argmax() == label
        lengths.add(len(points))
    assert lengths == set(range(5, 13))


def test_classes_are_about_as_frequent_and_splits_differ(prepared):
    train, validation = prepared.splits['train'], prepared.splits['validation']
    assert train.names == COLOURS
    assert (np.bincount(train.answers, minlength=4) > 60).all()
    assert not np.array_equal(train.rows[0]['frames'], validation.rows[0]['frames'])


def test_rows_have_the_declared_shapes_and_padding_counts_nothing(prepared):
    (*_, last) = eval_batches(prepared.splits['validation'], 16)
    assert {name: (array.shape, array.dtype) for name, array in last.items()} == {
        name: (leaf.shape, leaf.dtype) for name, leaf in POINTS.batch_like(16).items()
    }
    assert (last['label'][2:] == IGNORED).all()
    assert not last['frames'][last['segments'] == 0].any()


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        (dict(fewest=1), r'data\.fewest: 1 must be at least 2'),
        (dict(fewest=13), r'data\.fewest: 13 .* at most data\.context_length, 12'),
        (dict(dimensions=3), r'data\.dimensions: 3 make 8 points, fewer than the 11 of a set'),
    ],
)
def test_what_cannot_be_is_refused(changes, message):
    with pytest.raises(UserError, match=message):
        ColouredPoints(**dict(context_length=12) | changes)


NUMBERS = LargestNumber(context_length=6, fewest=2, train=300, validation=50)


@pytest.fixture(scope='module')
def numbers(tmp_path_factory):
    return NUMBERS.prepare(tmp_path_factory.mktemp('cache'))


def test_the_value_of_a_set_is_its_largest_number(numbers):
    lengths, scale = set(), numbers.processor
    for row in numbers.splits['train'].rows:
        members = row['frames'][row['segments'] != 0] * scale.deviation + scale.mean
        assert members.max() == pytest.approx(row['value'], abs=1e-6)
        assert ((members >= -1e-6) & (members < 1)).all()
        lengths.add(len(members))
    assert lengths == {2, 3, 4, 5, 6}
    assert not np.array_equal(*(numbers.splits[name].answers[:50] for name in ('train', 'validation')))


def test_rows_of_numbers_have_the_declared_shapes_and_padding_has_no_value(numbers):
    (*_, last) = eval_batches(numbers.splits['validation'], 16)
    assert {name: (array.shape, array.dtype) for name, array in last.items()} == {
        name: (leaf.shape, leaf.dtype) for name, leaf in NUMBERS.batch_like(16).items()
    }
    assert np.isnan(last['value'][2:]).all()
    assert (last['value'][:2] == numbers.splits['validation'].answers[-2:]).all()
    assert not last['frames'][last['segments'] == 0].any()


def test_a_smallest_set_larger_than_the_largest_is_refused():
    with pytest.raises(UserError, match=r'data\.fewest: 7 must be at most data\.context_length, 6'):
        LargestNumber(context_length=6, fewest=7)
