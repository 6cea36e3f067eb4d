# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Where the tokens of a pair stand in a row, and what is left empty."""

from dataclasses import replace

import numpy as np
import pytest

from saccade.data.rows.pair_frame import PairFrame
from saccade.data.tokenizer.byte import Byte
from saccade.data.tokenizer.tokenizer import BERT, Around, Tokenizer
from saccade.data.tokenizer.word import Word
from saccade.types import UserError

FRAME = PairFrame(source_context_length=4, context_length=3, start=7, end=9)


def test_a_source_ends_and_a_target_starts_and_ends():
    row = FRAME.row([1, 2], [3])
    np.testing.assert_array_equal(row['source'], [1, 2, 9, 0])
    np.testing.assert_array_equal(row['source_segments'], [1, 1, 1, 0])
    np.testing.assert_array_equal(row['source_positions'], [0, 1, 2, 0])
    np.testing.assert_array_equal(row['tokens'], [7, 3, 9, 0])
    np.testing.assert_array_equal(row['segments'], [1, 1, 1, 0])
    np.testing.assert_array_equal(row['positions'], [0, 1, 2, 0])
    assert row['end'] == 9


def test_a_source_of_another_vocabulary_ends_with_its_own_end_token():
    row = replace(FRAME, around=Around((), (0,))).row([1, 2], [3])
    np.testing.assert_array_equal(row['source'], [1, 2, 0, 0])
    assert row['source_segments'].sum() == 3
    assert (row['tokens'][2], row['end']) == (9, 9)
    both = Tokenizer(Byte().train([]).backend, Byte(end=None, specials=BERT).train([]))
    frame = PairFrame.of(both, 4, 3)
    assert (*frame.around.after, frame.end) == (both.source.special('[SEP]'), both.end) == (3, 0)


def test_the_room_is_what_fits_to_the_last_token():
    assert FRAME.room == (3, 2)
    full = FRAME.row([1, 2, 3], [4, 5])
    np.testing.assert_array_equal(full['source'], [1, 2, 3, 9])
    np.testing.assert_array_equal(full['tokens'], [7, 4, 5, 9])


@pytest.mark.parametrize(('source', 'target', 'read'), [([1, 2, 3, 4], [5], 0), ([1], [4, 5, 6], 2)])
def test_what_is_too_long_is_left_empty_and_nothing_is_learned(source, target, read):
    row = FRAME.row(source, target)
    assert row['source_segments'].sum() == read
    assert row['segments'].sum() == 0
    assert row['tokens'][0] == 7


def test_padding_has_the_shapes_of_a_row_and_no_token():
    row, blank = FRAME.row([1], [2]) | {'row': np.int32(0)}, FRAME.padding()
    assert {name: (np.shape(each), each.dtype) for name, each in row.items()} == {
        name: (np.shape(each), each.dtype) for name, each in blank.items()
    }
    assert blank['source_segments'].sum() == blank['segments'].sum() == 0
    assert blank['row'] == -1


def test_what_is_written_starts_with_the_end_token_or_one_that_is_named():
    tokenizer = Word(vocabulary=9, specials=('[PAD]',)).train(['a b'])
    assert PairFrame.of(tokenizer, 4, 4).start == tokenizer.end
    assert PairFrame.of(tokenizer, 4, 4, '[PAD]').start == tokenizer.specials['[PAD]'] != tokenizer.end
    with pytest.raises(UserError, match="no special token '<s>'"):
        PairFrame.of(tokenizer, 4, 4, '<s>')
    with pytest.raises(UserError, match='no end token'):
        PairFrame.of(Word(vocabulary=9, end=None).train(['a b']), 4, 4)


def test_a_mode_stands_before_a_source_and_takes_a_place():
    tokenizer = Word(vocabulary=9, specials=('[S]',)).train(['a b'])
    frame = PairFrame.of(tokenizer, 4, 3).in_mode(tokenizer, '[S]')
    mode = tokenizer.specials['[S]']
    assert frame.room == (2, 2)
    np.testing.assert_array_equal(frame.row([6, 7], [8])['source'], [mode, 6, 7, tokenizer.end])
    np.testing.assert_array_equal(frame.row([6, 7], [8])['source_positions'], [0, 1, 2, 3])
    assert frame.row([5, 6, 7])['source_segments'].sum() == 0
    assert frame.in_mode(tokenizer, None) == PairFrame.of(tokenizer, 4, 3)
    with pytest.raises(UserError, match=r"no special token '\[X\]'"):
        frame.in_mode(tokenizer, '[X]')
