# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Packing: every token but a document's first is a target once, and rows say where pieces end."""

import numpy as np
import pytest

from saccade.build import build
from saccade.data.rows.pack import Packed, Padded, WindowRows, Windows, best_fit
from saccade.types import UserError

LENGTHS = [1, 7, 0, 30, 2, 11, 5, 21, 6, 3, 12, 10, 9]


def _rows(pack, context_length, lengths=LENGTHS, train=True):
    """Rows of documents whose tokens are all different."""
    stops = np.cumsum(lengths)
    bounds = np.stack([stops - lengths, stops], axis=-1)
    tokens = np.arange(100, 100 + sum(lengths), dtype=np.uint16)
    return pack.rows(tokens, pack.index(bounds, context_length, train), context_length)


def _targets(row):
    inside = (row['segments'][1:] == row['segments'][:-1]) & (row['segments'][1:] > 0)
    return row['tokens'][1:][inside].tolist()


def _expected(lengths=LENGTHS):
    stops = np.cumsum(lengths)
    return [100 + token for stop, n in zip(stops, lengths, strict=True) for token in range(stop - n + 1, stop)]


@pytest.mark.parametrize('pack', [Packed(), Padded()], ids=str)
@pytest.mark.parametrize('context_length', [1, 2, 5, 10, 64])
def test_each_token_but_the_first_of_a_document_is_a_target_once(pack, context_length):
    rows = _rows(pack, context_length)
    assert sorted(target for row in rows for target in _targets(row)) == _expected()


@pytest.mark.parametrize('pack', [Packed(), Padded()], ids=str)
def test_rows_say_what_they_hold(pack):
    for row in _rows(pack, 10):
        assert all(row[name].shape == (11,) and row[name].dtype == np.int32 for name in row)
        for segment in range(1, row['segments'].max() + 1):
            inside = row['segments'] == segment
            assert (np.diff(row['tokens'][inside]) == 1).all()
            assert row['positions'][inside].tolist() == list(range(inside.sum()))
        assert (np.diff(row['segments'][row['segments'] > 0]) >= 0).all()
        outside = row['segments'] == 0
        assert not row['tokens'][outside].any()
        assert not row['positions'][outside].any()


def test_pieces_of_a_document_overlap_by_one_token():
    starts, lengths = _rows(Padded(), 10, [25]).pieces()
    assert starts.tolist() == [0, 10, 20]
    assert lengths.tolist() == [11, 11, 5]


def test_padded_has_one_piece_a_row():
    rows = _rows(Padded(), 10)
    assert all(row['segments'].max() == 1 for row in rows)
    assert len(rows) == len(rows.pieces()[0])


def test_best_fit_packs_perfectly_where_that_is_easy():
    assert len(set(best_fit(np.array([7, 3, 5, 5, 2, 8, 10]), 10))) == 4


@pytest.mark.parametrize('capacity', [33, 129])
def test_best_fit_is_near_the_bound(capacity):
    lengths = np.random.default_rng(0).integers(2, capacity + 1, 3000)
    rows = best_fit(lengths, capacity)
    assert np.bincount(rows, lengths).max() <= capacity
    assert np.array_equal(np.unique(rows), np.arange(rows.max() + 1))
    assert rows.max() + 1 <= 1.03 * lengths.sum() / capacity


def test_best_fit_keeps_the_order_of_documents():
    assert best_fit(np.array([3, 10, 7, 9]), 10).tolist() == [0, 1, 0, 2]


def test_best_fit_refuses_what_cannot_fit():
    with pytest.raises(UserError, match='11 tokens'):
        best_fit(np.array([3, 11]), 10)


def test_many_pieces():
    lengths = np.random.default_rng(1).integers(2, 258, 100_000)
    assert np.bincount(best_fit(lengths, 257), lengths).max() <= 257


@pytest.mark.parametrize('total', [12, 21, 22, 23, 40, 41])
def test_windows_a_context_apart_have_each_token_as_a_target_once(total):
    rows = _rows(Windows(), 10, [total])
    assert [target for row in rows for target in _targets(row)] == _expected([total])
    assert rows[len(rows) - 1]['segments'].any()


def test_every_window():
    rows = _rows(Windows(stride=1), 10, [40, 60])
    assert len(rows) == 100 - 10
    for number in (0, 37, 89):
        assert rows[number]['tokens'].tolist() == list(range(100 + number, 111 + number))
        assert rows[number]['segments'].tolist() == [1] * 11
        assert rows[number]['positions'].tolist() == list(range(11))


def test_stride_between():
    rows = _rows(Windows(stride=4), 10, [30])
    assert [int(row['tokens'][0]) for row in rows] == [100, 104, 108, 112, 116, 120]
    assert {target for row in rows for target in _targets(row)} == set(_expected([30]))


def test_windows_of_validation_do_not_overlap_in_targets():
    rows = _rows(Windows(stride=1), 10, [45], train=False)
    assert [target for row in rows for target in _targets(row)] == _expected([45])


@pytest.mark.parametrize('pack', [Packed(), Padded(), Windows(), Windows(stride=1)], ids=str)
def test_pieces_hold_each_target_once(pack):
    rows = _rows(pack, 10)
    starts, lengths = rows.pieces()
    spans = zip(starts, lengths, strict=True)
    held = [token for start, n in spans for token in rows.tokens[start + 1 : start + n].tolist()]
    assert len(held) == len(set(held))
    assert set(held) == {target for row in rows for target in _targets(row)}


@pytest.mark.parametrize('stride', [0, -1, 11])
def test_bad_stride(stride):
    with pytest.raises(UserError, match='stride'):
        _rows(Windows(stride=stride), 10)


@pytest.mark.parametrize('pack', [Packed(), Windows()], ids=str)
def test_rows_end(pack):
    rows = _rows(pack, 10)
    for number in (-1, len(rows)):
        with pytest.raises(IndexError):
            rows[number]


def test_padding_is_no_segment():
    row = WindowRows(np.arange(5), 4, 1).padding()
    assert not any(array.any() for array in row.values())
    assert row['tokens'].shape == (5,)


def test_a_short_stream_is_one_window():
    rows = WindowRows(np.arange(5), 10, 3)
    assert len(rows) == 1
    assert rows[0]['segments'].tolist() == [1] * 5 + [0] * 6


def test_parts_build_from_specs():
    assert build({'use': 'data.rows.pack:Windows', 'stride': 1})() == Windows(stride=1)
    assert build({'use': 'data.rows.pack:Packed'})() == Packed()
