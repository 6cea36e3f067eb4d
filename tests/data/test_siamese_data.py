# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Texts in rows of their own, with a class, a number or neither: rows, what is cut off, and what is refused."""

import json

import numpy as np
import pytest

from saccade.build import build
from saccade.data.corpus.docstrings import divided
from saccade.data.pipeline import eval_batches
from saccade.data.tokenizer.tokenizer import BERT
from saccade.types import IGNORED, Data, UserError

CONTEXT = 8
TOKENIZER = {'use': 'data.tokenizer.word:Word', 'vocabulary': 200, 'end': None, 'specials': list(BERT)}
KINDS = {
    'SiameseClassified': {'label': 'label', 'classes': 2},
    'SiameseValued': {'value': 'score'},
    'Positives': {},
}
RECORDS = [
    {'one': 'a b c', 'two': 'd', 'three': 'e f', 'label': 'yes', 'score': 2.5},
    {'one': 'a b c d e f g h i j', 'two': 'b', 'three': 'g', 'label': 'no', 'score': 0.0},
    {'one': 'c', 'two': 'a b c d e f g h', 'three': 'a', 'label': 'yes', 'score': 1.0},
]


@pytest.fixture
def folder(tmp_path):
    for name in ('train', 'dev'):
        (tmp_path / f'{name}.jsonl').write_text(''.join(f'{json.dumps(record)}\n' for record in RECORDS))
    return tmp_path


def part(folder, kind, **changes):
    columns = {'text': 'one', 'pair': 'two', 'path': str(folder)}
    own = {'use': f'data.encoder.siamese:{kind}', 'tokenizer': TOKENIZER, 'context_length': CONTEXT}
    return build(own | columns | KINDS[kind] | changes)()


def read(row, tokenizer):
    """The texts of a row, read off the row itself."""
    for tokens, segments, positions in zip(row['tokens'], row['segments'], row['positions'], strict=True):
        used = np.count_nonzero(segments)
        assert segments[:used].all()
        np.testing.assert_array_equal(positions[:used], np.arange(used))
        ids = tokens[:used].tolist()
        yield tokenizer.decode(ids[1:-1])


@pytest.mark.parametrize('kind', KINDS)
def test_each_text_has_a_row_of_its_own_and_what_is_too_long_is_cut_off(folder, kind):
    data = part(folder, kind)
    assert isinstance(data, Data)
    prepared = data.prepare(folder / 'cache')
    found = [list(read(row, prepared.processor)) for row in prepared.splits['train'].rows]
    assert found == [['a b c', 'd'], ['a b c d e f', 'b'], ['c', 'a b c d e f']]
    (batch,) = eval_batches(prepared.splits['validation'], 4)
    assert {name: (leaf.shape, leaf.dtype) for name, leaf in batch.items()} == {
        name: (leaf.shape, leaf.dtype) for name, leaf in data.batch_like(4).items()
    }
    assert batch['example'].tolist() == [0, 1, 2, -1]
    assert batch['tokens'].shape == (4, 2, CONTEXT)
    assert not batch['segments'][3].any()


def test_a_class_a_number_or_nothing_is_said_of_an_example(folder):
    classes, numbers, nothing = (part(folder, kind).prepare(folder / 'cache').splits['train'] for kind in KINDS)
    assert [classes.names[row['label']] for row in classes.rows] == ['yes', 'no', 'yes']
    assert classes.rows.padding()['label'] == IGNORED
    assert [float(row['value']) for row in numbers.rows] == [2.5, 0.0, 1.0]
    assert nothing.rows[2].keys() == {'tokens', 'segments', 'positions', 'types', 'example'}
    assert nothing.rows.padding()['example'] == -1


def test_a_triplet_has_a_third_text(folder):
    data = part(folder, 'Positives', negative='three')
    prepared = data.prepare(folder / 'cache')
    assert list(read(prepared.splits['train'].rows[0], prepared.processor)) == ['a b c', 'd', 'e f']
    assert data.batch_like(2)['tokens'].shape == (2, 3, CONTEXT)
    assert data.inputs == {'text': 'one', 'pair': 'two', 'negative': 'three'}


def test_new_pairs_are_numbered_in_their_order(folder):
    data = part(folder, 'Positives')
    prepared = data.prepare(folder / 'cache')
    split = data.unanswered(data.read(folder / 'dev.jsonl'), (), prepared.processor)
    assert [int(row['example']) for row in split.rows] == [0, 1, 2]


@pytest.mark.parametrize(
    ('changes', 'words'),
    [
        ({'overlap': 2}, 'pairs of texts are truncated and have no chunks'),
        ({'context_length': 2}, 'there is no room for text'),
    ],
)
def test_what_cannot_be_is_refused(folder, changes, words):
    with pytest.raises(UserError, match=words):
        part(folder, 'Positives', **changes)


def test_a_missing_column_is_named(folder):
    with pytest.raises(UserError, match="has no column 'thre'; did you mean 'three'"):
        part(folder, 'Positives', negative='thre').prepare(folder / 'cache')


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('Say what it is. It is this.\n\nArgs:\n    x: a number', ('Say what it is.', 'It is this. Args: x: a number')),
        ('Say what it is\n\nand more of it', ('Say what it is', 'and more of it')),
        ('A single\nsentence.', ('A single sentence.', '')),
    ],
)
def test_a_docstring_is_divided_after_its_first_sentence(text, expected):
    assert divided(text) == expected
