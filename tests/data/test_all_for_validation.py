# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""With `validation` 1 all examples are for validation, and for training too: other data are evaluated as a whole."""

import json

import numpy as np
import pytest

from saccade.data.corpus.corpus import open_corpus
from saccade.data.corpus.dataset import pick
from saccade.data.corpus.parallel_files import open_parallel
from saccade.data.corpus.records import open_records
from saccade.data.corpus.squad import open_questions
from saccade.data.labelled_folders import Classes, labelled_splits

SPLITS = 'train', 'validation'


def texts(folder):
    for number in range(6):
        (folder / f'{number}.txt').write_text(f'text {number}\n')
    return folder


def rows(folder):
    (folder / 'rows.csv').write_text('text\n' + ''.join(f'text {number}\n' for number in range(6)))
    return folder / 'rows.csv'


def one_text(folder):
    (folder / 'one.txt').write_text('text 0, and what follows it')
    return folder / 'one.txt'


@pytest.mark.parametrize(('make', 'count'), [(texts, 6), (rows, 6), (one_text, 1)])
def test_texts(tmp_path, make, count):
    (tmp_path / 'data').mkdir()
    corpus = open_corpus(None, str(make(tmp_path / 'data')), tmp_path / 'cache', 1.0)
    found = {split: sorted(''.join(document.parts()) for document in corpus.splits[split]) for split in SPLITS}
    assert found['train'] == found['validation']
    assert len(found['train']) == count
    assert found['train'][0].startswith('text 0')


def test_records_and_a_single_one(tmp_path):
    for count in (1, 5):
        file = tmp_path / f'{count}.jsonl'
        file.write_text(''.join(f'{json.dumps({"a": str(number)})}\n' for number in range(count)))
        splits = open_records(None, str(file), tmp_path, 1.0, ('a',)).splits
        assert [[record['a'] for record in splits[split]] for split in SPLITS] == [[*map(str, range(count))]] * 2


def test_line_aligned_files(tmp_path):
    for language in ('en', 'de'):
        (tmp_path / f'a.{language}').write_text(''.join(f'{language} {number}\n' for number in range(5)))
    splits = open_parallel(tmp_path / 'a', ('en', 'de'), 1.0).splits
    assert [len(splits[split]) for split in SPLITS] == [5, 5]


def test_questions_of_one_article(tmp_path):
    asked = [{'id': str(number), 'question': 'q', 'answers': []} for number in range(3)]
    content = {'data': [{'title': 'a', 'paragraphs': [{'context': 'c', 'qas': asked}]}]}
    (tmp_path / 'a.json').write_text(json.dumps(content))
    splits = open_questions(None, str(tmp_path / 'a.json'), tmp_path, 1.0).splits
    assert [[question.id for question in splits[split]] for split in SPLITS] == [['0', '1', '2']] * 2


def test_files_by_class(tmp_path):
    for name in ('a', 'b'):
        (tmp_path / name).mkdir()
        (tmp_path / name / '0.png').write_bytes(b'')
    splits, _ = labelled_splits(tmp_path, ('.png',), 'images', Classes(2), 1.0)
    assert [np.asarray(splits[split].labels).tolist() for split in SPLITS] == [[0, 1]] * 2


def test_a_dataset_of_tfds(monkeypatch):
    monkeypatch.setattr('saccade.data.corpus.dataset.sources', lambda name, builder: {'train': [{'a': 0}] * 7})
    assert [len(part) for part in pick('any', None, 1.0).values()] == [7, 7]
