# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Cosines for people and for programs, of vectors that are known."""

import numpy as np
import pytest
from rich.console import Console

from saccade.decode.embed import Embedded
from saccade.inside.embedding import CosineComparison, Neighbours
from saccade.ops import pool
from saccade.types import UserError

EAST, NORTH = np.array([2.0, 0.0], np.float32), np.array([0.0, 0.5], np.float32)
TEXTS = [
    Embedded('a dog', ['a', 'dog'], [(0, 1), (2, 5)], np.stack([EAST, NORTH])),
    Embedded('[dog] and dog', ['dog', 'and', 'dog'], [(1, 4), (6, 9), (10, 13)], np.stack([EAST, EAST, EAST + NORTH])),
]
SLANTED = 0.5 / (4 + 0.25) ** 0.5


def shown(part):
    console = Console(width=100)
    with console.capture() as captured:
        part.table().show(console)
    return captured.get()


def test_a_word_is_compared_wherever_it_stands():
    found = CosineComparison.of(TEXTS, pool.mean, 'dog')
    np.testing.assert_array_equal(found.vectors, [NORTH, EAST, EAST + NORTH])
    assert [each['text'] for each in found.record()['occurrences']] == [0, 1, 1]
    np.testing.assert_allclose(found.record()['cosines'][0], [1, 0, SLANTED], rtol=1e-6)
    printed = shown(found)
    assert '1  a [dog]' in printed
    assert '2  [[dog]] and dog' in printed
    assert '3  [dog] and [dog]' in printed
    assert f'{SLANTED:.3f}' in printed


def test_texts_are_compared_as_they_are_pooled():
    found = CosineComparison.of(TEXTS, pool.first, None)
    np.testing.assert_array_equal(found.vectors, [EAST, EAST])
    record = found.record()
    assert record['texts'][0] == {
        'text': 'a dog',
        'tokens': ['a', 'dog'],
        'vectors': [[2.0, 0.0], [0.0, 0.5]],
        'pooled': [2.0, 0.0],
    }
    assert 'occurrences' not in record
    assert '2  [dog] and dog' in shown(found)


def test_a_text_without_the_word_is_refused():
    with pytest.raises(UserError, match="no word 'and' in the text 'a dog'"):
        CosineComparison.of(TEXTS, pool.mean, 'and')


def test_vectors_are_written_whole_or_not_at_all(tmp_path):
    found = CosineComparison.of(TEXTS, pool.mean, 'dog')
    found.save(str(tmp_path / 'vectors.npy'))
    np.testing.assert_array_equal(np.load(tmp_path / 'vectors.npy'), found.vectors)
    (tmp_path / 'folder').mkdir()
    for place, why in (('folder', 'Is a directory'), ('absent/vectors.npy', 'No such file or directory')):
        with pytest.raises(UserError, match=f'cannot write the vectors to {tmp_path / place}: {why}'):
            found.save(str(tmp_path / place))
    assert {path.name for path in tmp_path.iterdir()} == {'vectors.npy', 'folder'}


def test_neighbours_are_shown_as_they_are_spelled():
    found = Neighbours('[MASK]', [('[SEP]', 0.25), ('Ġdog', -0.5)])
    assert found.record() == {'nearest': [{'token': '[SEP]', 'cosine': 0.25}, {'token': 'Ġdog', 'cosine': -0.5}]}
    printed = shown(found)
    assert all(word in printed for word in ("Nearest to '[MASK]'", '[SEP]', '0.250', 'Ġdog', '-0.500'))
