# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Documents in JSON lines: text, splits, places in messages, and memory that does not hold the text."""

import gzip
import json
import tracemalloc

import pytest

from saccade.data.corpus.corpus import open_corpus
from saccade.types import UserError


def write(path, *texts, column='text', end='\n'):
    path.parent.mkdir(exist_ok=True)
    path.write_text(''.join(json.dumps({column: text, 'n': 1}) + end for text in texts), newline='')
    return path


def opened(path, tmp_path, **settings):
    return open_corpus(None, str(path), tmp_path / 'cache', **settings)


def texts(corpus, split):
    return [document['text'] for document in corpus.splits[split]]


@pytest.mark.parametrize('end', ['\n', '\r\n', '\n\n \n'])
def test_each_line_is_a_document_of_one_split(tmp_path, end):
    written = [f'Text {number}:\nnaïve\u2028line' for number in range(50)]
    corpus = opened(write(tmp_path / 'a.jsonl', *written, end=end), tmp_path)
    assert sorted(texts(corpus, 'train') + texts(corpus, 'validation')) == sorted(written)
    assert 1 <= len(corpus.splits['validation']) <= 12


def test_a_line_keeps_its_split_and_document_when_others_come(tmp_path):
    few, more = [[f'Text {number}' for number in range(count)] for count in (40, 60)]
    first = opened(write(tmp_path / 'a.jsonl', *few), tmp_path, validation=0.3)
    second = opened(write(tmp_path / 'b.jsonl', *reversed(more)), tmp_path, validation=0.3)
    assert set(texts(first, 'validation')) == set(texts(second, 'validation')) & set(few)
    assert first.digest != second.digest


def test_equal_lines_are_in_one_split(tmp_path):
    corpus = opened(write(tmp_path / 'a.jsonl', *['one', 'two', 'three', 'four'] * 10), tmp_path, validation=0.5)
    assert not set(texts(corpus, 'train')) & set(texts(corpus, 'validation'))


def test_files_are_the_splits_if_they_are_named_so(tmp_path, caplog):
    folder = tmp_path / 'data'
    write(folder / 'valid.jsonl', 'v')
    write(folder / 'train.jsonl', 'a', 'b')
    write(folder / 'test.jsonl', 't')
    write(folder / 'more.jsonl', 'm')
    corpus = opened(folder, tmp_path)
    assert {split: texts(corpus, split) for split in corpus.splits} == {
        'train': ['a', 'b'],
        'validation': ['v'],
        'test': ['t'],
    }
    assert corpus.splits['validation'][0]['id'] == 'valid.jsonl:1'
    assert '1 other files are skipped' in caplog.text


def test_all_files_of_a_folder_are_one_corpus(tmp_path, caplog):
    folder = tmp_path / 'data'
    write(folder / 'a.jsonl', *'abcdef')
    write(folder / 'b.jsonl', *'ghijkl')
    (folder / 'README.md').write_text('Not a document.')
    corpus = opened(folder, tmp_path, validation=0.3)
    assert sorted(texts(corpus, 'train') + texts(corpus, 'validation')) == [*'abcdefghijkl']
    assert '1 other files are skipped' in caplog.text


def test_another_field_is_another_corpus(tmp_path):
    path = tmp_path / 'a.jsonl'
    path.write_text(''.join(json.dumps({'text': f'a{n}', 'code': f'b{n}'}) + '\n' for n in range(4)))
    first, second = opened(path, tmp_path), opened(path, tmp_path, column='code')
    assert {*texts(first, 'train')} == {text.replace('b', 'a') for text in texts(second, 'train')}
    assert first.digest != second.digest


@pytest.mark.parametrize(
    ('line', 'message'),
    [
        ('{"text": 3}', "a.jsonl, line 3: 'text' is not a string"),
        ('{"txt": "a"}', "a.jsonl, line 3: has no column 'text'; did you mean 'txt'? it has txt"),
        ('["a"]', 'a.jsonl, line 3: is not a JSON object'),
        ('{"text": "a"', 'a.jsonl, line 3: is not JSON'),
        ('{"text": "\\ud800"}', 'a.jsonl, line 3: has the lone surrogate'),
        (b'{"text": "\xff"}', 'a.jsonl, line 3: byte 11 (0xff) is not UTF-8'),
    ],
)
def test_a_wrong_line_is_named(tmp_path, line, message):
    path = write(tmp_path / 'a.jsonl', 'one', 'two')
    path.write_bytes(path.read_bytes() + (line if isinstance(line, bytes) else line.encode()) + b'\n')
    corpus = opened(path, tmp_path)
    with pytest.raises(UserError) as refused:
        _ = [texts(corpus, split) for split in corpus.splits]
    assert message in str(refused.value)


@pytest.mark.parametrize('content', ['', '\n \n', '{"text": "only one"}\n'])
def test_too_few_documents_are_refused(tmp_path, content):
    (tmp_path / 'a.jsonl').write_text(content)
    with pytest.raises(UserError, match=r'a\.jsonl: leaves no document for'):
        opened(tmp_path / 'a.jsonl', tmp_path)


def test_a_packed_file_is_refused_rather_than_read_as_raw_text(tmp_path):
    (tmp_path / 'a.jsonl.gz').write_bytes(gzip.compress(b'{"text": "a"}\n{"text": "b"}\n'))
    with pytest.raises(UserError, match=r'a\.jsonl\.gz: JSON lines are read in place; unpack the file first'):
        opened(tmp_path / 'a.jsonl.gz', tmp_path)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(UserError, match=r'none\.jsonl: cannot be read \(No such file or directory\)'):
        opened(tmp_path / 'none.jsonl', tmp_path)


def test_a_file_that_changes_is_noticed(tmp_path):
    path = write(tmp_path / 'a.jsonl', *'abcdef')
    corpus = opened(path, tmp_path)
    write(path, *'ghijklm')
    with pytest.raises(UserError, match='changed while it was being read'):
        texts(corpus, 'train')


def test_memory_holds_places_not_text(tmp_path):
    path = write(tmp_path / 'a.jsonl', *(f'{number} ' + 'x' * 100_000 for number in range(200)))
    tracemalloc.start()
    try:
        corpus = opened(path, tmp_path)
        assert sum(len(document['text']) for split in corpus.splits.values() for document in split) > 2e7
        assert tracemalloc.get_traced_memory()[1] < 5e6  # a block of 1 MiB, and copies of a document of 0.1 MB
    finally:
        tracemalloc.stop()
