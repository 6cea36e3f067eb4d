# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Texts of different lengths in one array, the windows that cover them, and pairs that are cut to fit."""

import itertools

import numpy as np
import pytest

from saccade.data import cache
from saccade.data.rows.ragged import Ragged, encoded, require_windows, truncated, windows
from saccade.data.tokenizer.tokenizer import BERT
from saccade.data.tokenizer.word import Word
from saccade.types import UserError

LENGTHS = np.array([0, 1, 7, 8, 9, 23, 24, 25, 100])
SIZES = [(8, 0), (8, 1), (8, 3), (8, 7), (1, 0), (200, 10)]


@pytest.mark.parametrize(('room', 'overlap'), SIZES)
def test_windows_cover_each_text_and_overlap_as_asked(room, overlap):
    which, spans = windows(LENGTHS, room, overlap)
    assert sorted(set(which)) == list(range(len(LENGTHS)))
    for text, length in enumerate(LENGTHS):
        own = spans[which == text]
        assert own[0, 0] == 0
        assert own[-1, 1] == length
        assert (own[1:, 0] == own[:-1, 1] - overlap).all()
        assert (own[:, 1] - own[:, 0] <= room).all()
        assert len(own) == 1 or (own[-1, 1] - own[-1, 0] > overlap)  # the last has something new


def test_windows_of_an_array_are_stretches_of_it():
    ragged = Ragged.of(np.arange(15), np.array([4, 0, 11]))
    assert [ragged[index].tolist() for index in range(3)] == [[0, 1, 2, 3], [], list(range(4, 15))]
    cut = ragged.cut(*windows(ragged.lengths, 5, 2))
    assert [cut[index].tolist() for index in range(len(cut))] == [
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
    [
        (0, 0, 'context_length: there is no room'),
        (8, 8, 'overlap by 8; .*at least 0 and less than 8'),
        (8, -1, 'overlap by -1'),
    ],
)
def test_windows_that_would_not_get_on_are_refused(room, overlap, message):
    with pytest.raises(UserError, match=message):
        require_windows(room, overlap)


@pytest.mark.long
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
