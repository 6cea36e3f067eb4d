# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Chunks cover a document with the overlap asked for, and each token is read where most of it can be seen."""

import itertools

import pytest

from saccade.data.rows.chunk import before, chunks, on_both_sides, shares
from saccade.types import UserError

SIZES = [
    (length, room, overlap)
    for length, room in itertools.product((0, 1, 5, 6, 7, 12, 13, 40), (1, 2, 6, 50))
    for overlap in {0, 1, room // 2, room - 1}
    if overlap < room
]


@pytest.mark.parametrize(('length', 'room', 'overlap'), SIZES)
def test_chunks_cover_the_document_and_overlap_as_asked(length, room, overlap):
    spans = chunks(length, room, overlap)
    assert {token for span in spans for token in range(*span)} == set(range(length))
    assert all(stop - start == min(room, length) for start, stop in spans[:-1])
    assert all(later[0] == earlier[1] - overlap for earlier, later in itertools.pairwise(spans))


@pytest.mark.parametrize(('length', 'room', 'overlap'), SIZES)
@pytest.mark.parametrize('meeting', [on_both_sides, before])
def test_each_token_is_in_the_share_of_the_chunk_that_sees_most_of_its_context(length, room, overlap, meeting):
    spans = chunks(length, room, overlap)
    sees = {
        before: lambda span, token: token - span[0],
        on_both_sides: lambda span, token: min(token - span[0], span[1] - 1 - token),
    }[meeting]
    taken = []
    for span, share in zip(spans, shares(spans, meeting), strict=True):
        for token in range(*share):
            there = [other for other in spans if other[0] <= token < other[1]]
            assert span in there
            assert sees(span, token) == max(sees(other, token) for other in there)
            taken.append(token)
    assert taken == list(range(length))


def test_a_long_document_by_hand():
    spans = chunks(13, 6, 2)
    assert spans == [(0, 6), (4, 10), (8, 13)]
    assert shares(spans, on_both_sides) == [(0, 5), (5, 9), (9, 13)]
    assert shares(spans, before) == [(0, 6), (6, 10), (10, 13)]


@pytest.mark.parametrize(('room', 'overlap'), [(6, 6), (6, -1), (0, 0)])
def test_an_overlap_of_a_whole_chunk_is_refused(room, overlap):
    with pytest.raises(UserError, match=f'overlap: must be at least 0 and below the {room} tokens'):
        chunks(20, room, overlap)
