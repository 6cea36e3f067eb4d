# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Texts of different lengths in one array, the chunks that cover them, and pairs that are cut to fit."""

import itertools

import numpy as np
import pytest

from saccade.data import cache
from saccade.data.chunk import chunks, on_both_sides, shares
from saccade.data.ragged import Ragged, chunked, encoded, require_chunks, truncated
from saccade.data.tokenizer import BERT, Word
from saccade.types import UserError

LENGTHS = np.array([0, 1, 7, 8, 9, 23, 24, 25, 100])
SIZES = [(8, 0), (8, 1), (8, 3), (8, 7), (1, 0), (200, 10)]


@pytest.mark.parametrize(('room', 'overlap'), SIZES)
def test_chunks_are_those_of_each_text(room, overlap):
    which, spans, own = chunked(LENGTHS, room, overlap)
    assert [array.shape for array in (spans, own)] == [(len(which), 2)] * 2
    for text, length in enumerate(LENGTHS.tolist()):
        expected = chunks(length, room, overlap)
        assert list(map(tuple, spans[which == text].tolist())) == expected
        assert list(map(tuple, own[which == text].tolist())) == shares(expected, on_both_sides)


def test_chunks_of_an_array_are_stretches_of_it():
    ragged = Ragged.of(np.arange(15), np.array([4, 0, 11]))
    assert [array.tolist() for array in ragged] == [[0, 1, 2, 3], [], list(range(4, 15))]
    cut = ragged.cut(*chunked(ragged.lengths, 5, 2)[:2])
    assert [array.tolist() for array in cut] == [
        [0, 1, 2, 3], [], [4, 5, 6, 7, 8], [7, 8, 9, 10, 11], [10, 11, 12, 13, 14]
    ]  # fmt: skip


def as_bert_does(first, second, room):
    """`_truncate_seq_pair` of BERT's run_classifier.py."""
    while first + second > room:
        if first > second:
            first -= 1
        else:
            second -= 1
    return first, second


@pytest.mark.parametrize('room', [1, 2, 7, 8, 30])
def test_pairs_are_truncated_as_bert_does(room):
    pairs = np.array(list(itertools.product(range(12), range(12))))
    kept = np.stack(truncated(pairs[:, 0], pairs[:, 1], room), axis=-1)
    assert kept.tolist() == [list(as_bert_does(*pair, room)) for pair in pairs.tolist()]


@pytest.mark.parametrize(
    ('room', 'overlap', 'message'),
    [(0, 0, 'context: it has no room'), (8, 8, 'overlap: must be at least 0 and below the 8'), (8, -1, 'not -1')],
)
def test_chunks_that_would_not_get_on_are_refused(room, overlap, message):
    with pytest.raises(UserError, match=message):
        require_chunks(room, overlap)


@pytest.mark.parametrize(('words', 'dtype'), [(50, np.uint16), (70_000, np.uint32)])
def test_tokens_are_those_of_each_text_in_few_bytes(words, dtype, monkeypatch):
    texts = [' '.join(map(str, range(start, start + start % 3))) for start in range(words)]
    tokenizer = Word(vocabulary=words + 10, specials=BERT, end=None).train(texts)
    whole = Ragged.of(*encoded(texts, tokenizer))
    monkeypatch.setattr(cache, '_GROUP', 100)
    parts = Ragged.of(*encoded(texts, tokenizer))
    assert whole.values.dtype == dtype
    assert np.array_equal(whole.values, parts.values)
    assert np.array_equal(whole.spans, parts.spans)
    assert [whole[index].tolist() for index in range(50)] == [tokenizer.encode(text) for text in texts[:50]]
