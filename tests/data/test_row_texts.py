# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Documents in rows of files: text, splits, places in messages, and memory that does not hold the text."""

import csv
import gzip
import json
import os
import re
import signal
import subprocess
import sys
import tracemalloc

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from saccade.build import build
from saccade.data.corpus.corpus import open_corpus
from saccade.data.corpus.row_texts import holds_rows
from saccade.data.tokenizer.tokenizer import BERT
from saccade.progress import listening
from saccade.types import UserError


def write(path, *texts, column='text', end='\n'):
    path.parent.mkdir(exist_ok=True)
    path.write_text(''.join(json.dumps({column: text, 'n': 1}) + end for text in texts), newline='')
    return path


def in_json(path, rows):
    write_json(path, json.dumps(rows, indent=1, ensure_ascii=False))


def in_json_lines(path, rows):
    write_json(path, ''.join(json.dumps(row) + '\n' for row in rows))


def write_json(path, content):
    with gzip.open(path, 'wt') if path.suffix == '.gz' else path.open('w') as file:
        file.write(content)


def separated(path, rows, **dialect):
    with gzip.open(path, 'wt', newline='') if path.suffix == '.gz' else path.open('w', newline='') as file:
        writer = csv.DictWriter(file, [*rows[0]], **dialect)
        writer.writeheader()
        writer.writerows(rows)


def in_tabs(path, rows):
    path.write_text('\n'.join('\t'.join(map(str, row)) for row in [[*rows[0]], *(row.values() for row in rows)]))


def in_parquet(path, rows):
    parquet.write_table(pyarrow.Table.from_pylist(rows), path, row_group_size=7)


def in_fasta(path, rows):
    with gzip.open(path, 'wt') if path.suffix == '.gz' else path.open('w') as file:
        file.writelines(f'>{row["id"]}\n{row["text"]}\n' for row in rows)


LONG = {  # files whose rows have several lines, quotation marks and characters of several bytes
    'a.jsonl': in_json_lines, 'a.jsonl.gz': in_json_lines, 'a.json': in_json, 'a.json.gz': in_json,
    'lines.json': in_json_lines, 'a.csv': separated, 'a.csv.gz': separated, 'a.parquet': in_parquet,
}  # fmt: skip
SHORT = {'a.tsv': in_tabs, 'a.fasta': in_fasta, 'a.faa.gz': in_fasta}  # one line of letters
WRITERS = LONG | SHORT


def opened(path, tmp_path, **settings):
    return open_corpus(None, str(path), tmp_path / 'cache', **settings)


def texts(corpus, split):
    return [document.text for document in corpus.splits[split]]


@pytest.mark.parametrize('name', WRITERS)
def test_each_row_is_a_document_of_one_split_in_any_order(tmp_path, name):
    text = 'Text {},\n"naïve"\u2028line' if name in LONG else 'MKVACDEF{}'
    numbers = [chr(ord('A') + n // 20) + 'ACDEFGHIKLMNPQRSTVWY'[n % 20] for n in range(40)]
    written = [text.format(number if name in SHORT else n) for n, number in enumerate(numbers)]
    path = tmp_path / name
    WRITERS[name](path, [{'id': f'p{n}', 'text': each, 'n': n} for n, each in enumerate(written)])
    corpus = opened(path, tmp_path, validation=0.3)
    assert sorted(texts(corpus, 'train') + texts(corpus, 'validation')) == sorted(written)
    assert 4 <= len(corpus.splits['validation']) <= 20
    train = corpus.splits['train']
    forward = [train[number] for number in range(len(train))]
    assert [train[number] for number in reversed(range(len(train)))] == forward[::-1]
    assert len({document.id for document in forward}) == len(train)


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
    assert corpus.splits['validation'][0].id == 'valid.jsonl:1'
    assert '1 other files are skipped' in caplog.text


@pytest.mark.parametrize('named', [False, True])
def test_no_row_of_a_test_file_is_for_training_or_validation(tmp_path, named):
    rows, folder = [f'learn {number}' for number in range(9)], tmp_path / 'own/data'
    folder.mkdir(parents=True)
    write(folder / 'train_00.jsonl', *rows[:5])
    write(folder / 'train_01.jsonl', *rows[5:])
    write(folder / 'test.0.jsonl', 'report', 'report too')
    if named:
        write(folder / 'valid.jsonl', 'check')
    found = opened(folder.parent, tmp_path, validation=0.3)
    assert texts(found, 'test') == ['report', 'report too']
    assert sorted(texts(found, 'train') + texts(found, 'validation')) == sorted(rows + ['check'] * named)
    assert (texts(found, 'validation') == ['check']) == named


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


@pytest.mark.parametrize(
    ('name', 'content', 'message'),
    [
        ('a.csv', 'id,txt\n1,a\n2,b\n', "a.csv: has no column 'text'; did you mean 'txt'? it has id, txt"),
        ('a.tsv', 'id\ttxt\n1\ta\n', "a.tsv: has no column 'text'; did you mean 'txt'? it has id, txt"),
        ('a.csv', 'id,text\n1,a\n2\n', 'a.csv, line 3: 1 fields, but the first line has 2'),
        ('a.csv', 'id,text\n1,"a\n', 'a.csv, line 2: unexpected end of data'),
        ('a.json', '[{"txt": "a"}]', "a.json, line 1: has no column 'text'; did you mean 'txt'? it has txt"),
        ('a.json', '[{"text": "a"},\n{"text": "b"', 'a.json, line 2: is not JSON'),
        ('a.json', '[{"text": "a"}\n{"text": "b"}]', "a.json, line 2: is not JSON: ',' or ']' is expected"),
        ('a.json', '[{"text": "a"}]\n[{"text": "b"}]', 'a.json, line 2: is not JSON: the array has ended before'),
        ('a.json', '["a", "b"]', 'a.json, line 1: is not a JSON object'),
        ('a.json', '{"data": [\n{"text": "a"}]}', 'a.json, line 1: is not JSON'),
        ('a.parquet', 'PAR1', 'a.parquet: cannot be read as Parquet'),
        ('a.jsonl.gz', 'no gzip', 'a.jsonl.gz: cannot be read (Not a gzipped file'),
    ],
)
def test_a_wrong_file_is_refused_in_one_line_before_its_text_is_read(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(UserError) as refused:
        opened(tmp_path / name, tmp_path)
    assert message in str(refused.value)
    assert '\n' not in str(refused.value)


@pytest.mark.parametrize(
    ('column', 'message'),
    [
        ('text', "has no column 'text'; did you mean 'texts'? it has n, texts"),
        ('n', "the column 'n' has values of type"),
    ],
)
def test_a_column_of_parquet_is_text(tmp_path, column, message):
    in_parquet(tmp_path / 'a.parquet', [{'n': n, 'texts': str(n)} for n in range(4)])
    with pytest.raises(UserError, match=re.escape(message)):
        opened(tmp_path / 'a.parquet', tmp_path, column=column)


def test_a_row_without_text_is_named(tmp_path):
    # So many that the type checks of tests, which read one row at random, hardly ever meet it.
    in_parquet(tmp_path / 'a.parquet', [*({'text': letter} for letter in 'abcdefgh' * 1000), {'text': None}])
    corpus = opened(tmp_path / 'a.parquet', tmp_path)
    with pytest.raises(UserError, match=r"a\.parquet, row 8,?001: 'text' is not a string, as a document must be"):
        _ = [texts(corpus, split) for split in corpus.splits]


def test_a_gzip_file_that_was_cut_is_refused(tmp_path):
    whole = gzip.compress(b''.join(b'{"text": "%d"}\n' % number for number in range(5000)))
    (tmp_path / 'a.jsonl.gz').write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match=r'a\.jsonl\.gz: is not a whole gzip file'):
        opened(tmp_path / 'a.jsonl.gz', tmp_path)


def test_columns_without_names_are_numbered(tmp_path):
    (tmp_path / 'a.csv').write_text('1,one\n2,two\n3,three\n')
    corpus = opened(tmp_path / 'a.csv', tmp_path, column='1')
    assert sorted(texts(corpus, 'train') + texts(corpus, 'validation')) == ['one', 'three', 'two']


def test_parts_of_splits_are_named_as_by_datasets(tmp_path):
    for name in ('train-00000-of-00002', 'train-00001-of-00002', 'validation-00000-of-00001'):
        in_parquet(tmp_path / f'{name}.parquet', [{'text': name}])
    corpus = opened(tmp_path, tmp_path)
    assert texts(corpus, 'train') == ['train-00000-of-00002', 'train-00001-of-00002']
    assert texts(corpus, 'validation') == ['validation-00000-of-00001']


@pytest.mark.parametrize(
    ('names', 'rows'),
    [
        (['train.csv', 'validation.csv', 'README.md', 'LICENSE'], True),
        (['a.py', 'b.py', 'package.json'], False),
        (['a.py', 'b.py', 'c.parquet'], True),
        (['a.txt', 'b.txt'], False),
    ],
)
def test_a_folder_of_texts_may_have_a_table(tmp_path, names, rows):
    for name in names:
        (tmp_path / name).write_text('')
    assert holds_rows(tmp_path) == rows


@pytest.mark.parametrize('content', ['', '\n \n', '{"text": "only one"}\n'])
def test_too_few_documents_are_refused(tmp_path, content):
    (tmp_path / 'a.jsonl').write_text(content)
    with pytest.raises(UserError, match=r'a\.jsonl: leaves no document for'):
        opened(tmp_path / 'a.jsonl', tmp_path)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(UserError, match=r'none\.jsonl: cannot be read \(No such file or directory\)'):
        opened(tmp_path / 'none.jsonl', tmp_path)


def test_a_file_that_changes_is_noticed(tmp_path):
    path = write(tmp_path / 'a.jsonl', *'abcdef')
    corpus = opened(path, tmp_path)
    write(path, *'ghijklm')
    with pytest.raises(UserError, match='changed while it was being read'):
        texts(corpus, 'train')


def test_one_of_many_packed_files_is_open_at_a_time(tmp_path):
    for name in [f'{number}{ending}' for number in range(12) for ending in ('.jsonl.gz', '.parquet')]:
        (in_parquet if name.endswith('.parquet') else in_json_lines)(tmp_path / name, [{'text': name}, {'text': 'b'}])
    before = len(os.listdir('/proc/self/fd'))
    corpus = opened(tmp_path, tmp_path / 'cache')
    assert len(texts(corpus, 'train')) > 12
    assert len(os.listdir('/proc/self/fd')) <= before + 2


@pytest.mark.parametrize(
    ('name', 'total', 'unit'), [('a.jsonl', 4, 'MiB'), ('a.csv.gz', None, 'MiB'), ('a.parquet', 40, 'rows')]
)
def test_reading_shows_its_progress(tmp_path, name, total, unit):
    WRITERS[name](tmp_path / name, [{'text': f'{n}' + 'x' * 100_000} for n in range(40)])
    begun = []

    class Shown(list):
        tell, end = list.append, list.copy

    def begin(*phase):
        begun.append((*phase, Shown()))
        return begun[-1][-1]

    with listening(begin):
        opened(tmp_path / name, tmp_path)
    ((title, of, counted_in, told),) = begun
    assert (title, of, counted_in) == (f'reading {name}', total, unit)
    assert told == sorted(told)
    assert (total or 4) - 1 <= told[-1] <= (total or 4)


@pytest.mark.long
@pytest.mark.parametrize('use', ['data.text.stream:TextData', 'data.encoder.passages:Passages'])
def test_tokens_are_whole_after_a_kill_in_the_middle(tmp_path, use):
    in_parquet(tmp_path / 'a.parquet', [{'text': f'text {number}. ' * 20} for number in range(200)])
    spec = {'use': use, 'path': str(tmp_path / 'a.parquet'), 'context_length': 32}
    spec |= {
        'data.text.stream:TextData': {
            'tokenizer': {'use': 'data.tokenizer.byte:Byte'},
            'pack': {'use': 'data.rows.pack:Packed'},
        },
        'data.encoder.passages:Passages': {
            'tokenizer': {'use': 'data.tokenizer.character:Character', 'end': None, 'specials': [*BERT]},
            'pairing': {'use': 'data.encoder.pairing:OnePassage'},
        },
    }[use]
    killed = subprocess.run([sys.executable, '-c', KILLED, json.dumps(spec), str(tmp_path / 'cache')], timeout=300)
    assert killed.returncode == -signal.SIGKILL
    assert [file.name for file in (tmp_path / 'cache').rglob('tokens.npy') if '.draft-' in str(file)] == ['tokens.npy']
    again, whole = (build(spec)().prepare(tmp_path / cache).splits for cache in ('cache', 'other'))
    for split in ('train', 'validation'):
        assert np.array_equal(again[split].rows.tokens, whole[split].rows.tokens)
        assert len(again[split].rows) == len(whole[split].rows)
    assert not list((tmp_path / 'cache').rglob('.draft-*'))


KILLED = """
import json, os, signal, sys
from pathlib import Path
from saccade.build import build
from saccade.data import cache
append = cache.GrowingArray.append
def killed(array, values):
    append(array, values)
    if array.length > 1000:
        array._file.flush()
        os.kill(os.getpid(), signal.SIGKILL)
cache.GrowingArray.append = killed
build(json.loads(sys.argv[1]))().prepare(Path(sys.argv[2]))
"""


SLOW = ('a.json', 'a.json.gz', 'a.jsonl.gz', 'lines.json')  # under tracemalloc


@pytest.mark.parametrize('name', [pytest.param(name, marks=[pytest.mark.long] * (name in SLOW)) for name in WRITERS])
def test_memory_holds_places_not_text(tmp_path, name):
    path = tmp_path / name
    rows = ({'id': f'p{n}', 'text': 'MKVACDEFGH'[n % 10] + 'ACDEFGHIKL' * 10_000} for n in range(200))
    WRITERS[name](path, [row | {'n': n} for n, row in enumerate(rows)])
    tracemalloc.start()
    try:
        corpus = opened(path, tmp_path)
        assert sum(len(document.text) for split in corpus.splits.values() for document in split) > 2e7
        assert tracemalloc.get_traced_memory()[1] < 5e6  # blocks, and copies of a document of 0.1 MB
    finally:
        tracemalloc.stop()


@pytest.mark.long
def test_memory_of_arrow_does_not_grow_with_a_group_of_rows(tmp_path):
    peaks = []
    for count in (2000, 16_000):
        rows = [{'text': f'{number} ' + 'MKVACDEFGH'[number % 10] * 5000} for number in range(count)]
        parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / 'a.parquet', compression='none')
        read = [sys.executable, '-c', PEAK, str(tmp_path / 'a.parquet'), str(tmp_path / 'cache')]
        peaks.append(int(subprocess.run(read, capture_output=True, text=True, check=True).stdout))
    assert 0 < peaks[1] < 1.5 * peaks[0]
    assert peaks[1] < (tmp_path / 'a.parquet').stat().st_size / 3


PEAK = """
import sys
from pathlib import Path
import pyarrow
from saccade.data.corpus.corpus import open_corpus
for split in open_corpus(None, sys.argv[1], Path(sys.argv[2])).splits.values():
    for document in split:
        pass
print(pyarrow.default_memory_pool().max_memory())
"""
