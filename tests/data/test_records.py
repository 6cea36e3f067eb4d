# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Records of files and of TFDS datasets: what is read, which split it goes to, and what is refused."""

import gzip
import itertools

import numpy as np
import pytest
import tensorflow_datasets as tfds

from saccade.data.corpus import named
from saccade.data.corpus.dataset import Picked
from saccade.data.corpus.record_files import read_records
from saccade.data.corpus.records import DatasetRecords, RecordSource, open_records, strings
from saccade.types import UserError

CONLL = '-DOCSTART- -X- O\n\nEU\tNNP\tB-ORG\nrejects VBZ  O\n\t\n\nPeter\tNNP\tB-PER\n'


class _Toy(tfds.core.GeneratorBasedBuilder, skip_registration=True):
    """The kinds of features that GLUE, CoNLL-2003 and SQuAD have, made here, so that no network is asked for them."""

    VERSION = tfds.core.Version('1.0.0')
    SPLITS = ('train', 'validation_matched', 'validation_mismatched', 'test')

    def _info(self):
        f = tfds.features
        tags = f.Sequence(f.ClassLabel(names=['O', 'B-X']))
        answers = f.Sequence({'text': f.Text(), 'answer_start': f.Scalar(np.int32)})
        label = f.ClassLabel(names=['bad', 'good'])
        features = {
            'sentence': f.Text(),
            'label': label,
            'score': f.Scalar(np.float32),
            'ner': tags,
            'answers': answers,
        }
        return tfds.core.DatasetInfo(builder=self, features=f.FeaturesDict(features))

    def _split_generators(self, dl_manager):
        return {split: self._generate_examples(split) for split in self.SPLITS}

    def _generate_examples(self, split):
        answers = [{'text': 'é', 'answer_start': 3}]
        for number in range(3):
            label = -1 if split == 'test' else 'good'
            text = f'{split} {number} é'
            yield number, dict(sentence=text, label=label, score=0.5, ner=['B-X', 'O'][:number], answers=answers)


class SaccadeToyLabelled(_Toy):
    pass


class SaccadeToySecret(_Toy):
    SPLITS = ('train', 'test')


def write(folder, **files):
    """Write files named as the keys are, with a dot for each _."""
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        content = text.encode() if isinstance(text, str) else text
        (folder / name.replace('_', '.')).write_bytes(content)
    return folder


def read(folder, name, text, columns=()):
    """The records of a file, each with its line."""
    found = read_records(write(folder, **{name: text}) / name.replace('_', '.'), columns)
    return list(zip(found.lines, found, strict=True))


def contents(found):
    return {name: [split[index] for index in range(len(split))] for name, split in found.splits.items()}


def some(count):
    return ''.join(f'text {number}\t{number % 2}\n' for number in range(count))


def test_comma_separated_values_are_read_by_the_names_of_the_first_line(tmp_path):
    text = '\ufefftext,label\n"a, ""b""\nc",x\r\n\nd,y\n'
    assert read(tmp_path, 'a_csv', text) == [(3, {'text': 'a, "b"\nc', 'label': 'x'}), (5, {'text': 'd', 'label': 'y'})]


@pytest.mark.parametrize('name', ['a_csv', 'a_tsv'])
def test_a_file_whose_columns_are_asked_for_by_number_has_no_line_of_names(tmp_path, name):
    text = 'a,x\nb,y\n'.replace(',', '\t' if 'tsv' in name else ',')
    assert read(tmp_path, name, text, ('0', '1')) == [(1, {'0': 'a', '1': 'x'}), (2, {'0': 'b', '1': 'y'})]


def test_columns_without_a_name_may_be_several(tmp_path):
    assert read(tmp_path, 'a_csv', 'text,,\na,1,\n', ('text',))[0][1]['text'] == 'a'


def test_a_quotation_mark_between_tabs_is_a_character(tmp_path):
    rows = read(tmp_path, 'a_tsv', 'text\tlabel\n"a\tx\nb "c"\ty\n')
    assert [record['text'] for _, record in rows] == ['"a', 'b "c"']


def test_json_lines_are_objects(tmp_path):
    text = '{"text": "a\u2028b", "label": 1}\n\n{"text": "c", "label": null}\n'
    assert read(tmp_path, 'a_jsonl', text) == [(1, {'text': 'a\u2028b', 'label': 1}), (3, {'text': 'c', 'label': None})]


@pytest.mark.parametrize('name', ['a_conll', 'a_txt'])
def test_the_columns_of_conll_are_words_and_tags(tmp_path, name):
    expected = [
        (3, {'tokens': ['EU', 'rejects'], 'tags': ['B-ORG', 'O']}),
        (7, {'tokens': ['Peter'], 'tags': ['B-PER']}),
    ]
    assert read(tmp_path, name, CONLL, ('tokens', 'tags')) == expected


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('# id 5239d808\tdomain=en\nEU\t_\t_\tB-ORG\n\n', [(2, ['EU'], ['B-ORG'])]),  # MultiCoNER's
        ('# id 5239d808 domain=en\nEU _ _ B-ORG\n', [(2, ['EU'], ['B-ORG'])]),
        ('# newdoc\n\n# sent_id = 1\n# text = EU is\nEU B-ORG\nis O\n', [(5, ['EU', 'is'], ['B-ORG', 'O'])]),
        ('# O\nx O\n\n# O\n', [(1, ['#', 'x'], ['O', 'O']), (4, ['#'], ['O'])]),  # as in tweets
        ('a B-X\n# B-Y\nb O\n', [(1, ['a', '#', 'b'], ['B-X', 'B-Y', 'O'])]),
        ('#tag\tO\n#\tO\n', [(1, ['#tag', '#'], ['O', 'O'])]),
        ('New York\tB-LOC\n\xa0\tO\n', [(1, ['New York', '\xa0'], ['B-LOC', 'O'])]),
        ('a\u2028b  O\n', [(1, ['a\u2028b'], ['O'])]),
    ],
)
def test_comments_of_conll_are_no_words_and_hashes_are(tmp_path, text, expected):
    rows = read(tmp_path, 'a_conll', text)
    assert [(line, record['tokens'], record['tags']) for line, record in rows] == expected


@pytest.mark.parametrize('name', ['a_csv', 'a_tsv', 'a_jsonl', 'a_conll', 'a_fasta'])
@pytest.mark.parametrize('encoding', ['utf-8-sig', 'utf-16'])
@pytest.mark.parametrize('end', ['\n', '\r\n', '\r'])
def test_records_are_the_same_in_each_encoding_and_with_each_line_end(tmp_path, name, encoding, end):
    text = {
        'a_csv': 'text,label\n"a ""b""\u2028",x\nc\x0b,y\n',
        'a_tsv': 'text\tlabel\na\x85b\tx\n',
        'a_jsonl': '{"text": "a\u2028b"}\n{"text": "c"}\n',
        'a_conll': 'a\x1cb O\nc O\n\nd O\n',
        'a_fasta': '>P1\tkinase\nMKV\nMK\n',
    }[name]
    plain = read(tmp_path / 'plain', name, text)
    assert read(tmp_path / 'other', name, text.replace('\n', end).encode(encoding)) == plain
    assert len(plain) == {'a_csv': 2, 'a_tsv': 1, 'a_jsonl': 2, 'a_conll': 2, 'a_fasta': 1}[name]


def test_a_return_within_quotes_is_a_character_of_the_field(tmp_path):
    assert read(tmp_path, 'a_csv', 'a,b\n"c\rd","e\nf"\n') == [(3, {'a': 'c\rd', 'b': 'e\nf'})]


def test_leftovers_of_editors_are_no_splits(tmp_path):
    folder = write(tmp_path, train_csv='a\nb\n', dev_csv='a\nc\n')
    for name in ('train.csv~', '#train.csv#', '._train.csv', '.train.csv.swp', 'Thumbs.db', '~$train.csv'):
        (folder / name).write_text('left behind')
    assert contents(open_records(None, str(folder), tmp_path, 0.5, ('a',))) == {
        'train': [{'a': 'b'}],
        'validation': [{'a': 'c'}],
    }


def test_files_may_be_gzipped(tmp_path):
    packed = gzip.compress(CONLL.encode())
    assert read(tmp_path, 'a_conll_gz', packed) == read(tmp_path, 'a_conll', CONLL)


def test_a_field_may_be_as_long_as_a_book(tmp_path):
    text = 'a' * 200_000
    assert read(tmp_path, 'a_csv', f'{text},1\n{text}b,0\n', ('0',))[0][1]['0'] == text


def test_a_hash_of_each_record_decides_its_split(tmp_path):
    path = str(write(tmp_path, a_tsv=some(200)) / 'a.tsv')
    before = contents(open_records(None, path, tmp_path, 0.25, ('0', '1')))
    assert 30 <= len(before['validation']) <= 70
    write(tmp_path, a_tsv=''.join(sorted(f'{some(200)}{some(300)}'.splitlines(keepends=True), reverse=True)))
    after = contents(open_records(None, path, tmp_path, 0.25, ('0', '1')))
    for split, records_ in before.items():
        kept = [record['0'] for record in after[split]]
        assert all(kept.count(record['0']) == 2 for record in records_)  # equal records keep together


@pytest.mark.parametrize('validation', [0.001, 0.999])
def test_of_few_records_each_split_has_one(tmp_path, validation):
    path = str(write(tmp_path, a_tsv=some(2)) / 'a.tsv')
    found = open_records(None, path, tmp_path, validation, ('0', '1'))
    assert [len(split) for split in found.splits.values()] == [1, 1]


def test_files_of_a_folder_are_named_after_the_splits(tmp_path):
    folder = write(tmp_path, train_tsv='a\t1\n', DEV_tsv_gz=gzip.compress(b'b\t0\n'), notes_md='')
    found = open_records(None, str(folder), tmp_path, 0.5, ('0', '1'))
    assert contents(found) == {'train': [{'0': 'a', '1': '1'}], 'validation': [{'0': 'b', '1': '0'}]}
    assert found.splits['validation'].place(0) == f'{folder}/DEV.tsv.gz, line 1'
    before = contents(found)
    write(tmp_path, Test_tsv='c\t1\n')
    found = open_records(None, str(folder), tmp_path, 0.5, ('0', '1'))
    assert contents(found) == before | {'test': [{'0': 'c', '1': '1'}]}
    assert list(found.splits) == ['train', 'validation', 'test']


def test_a_test_whose_answers_are_secret_is_no_split(tmp_path, caplog):
    labelled = 'text,label\na,1\n'
    folder = write(tmp_path, train_csv=labelled, dev_csv=labelled, test_csv='text\nb\n')
    found = open_records(None, str(folder), tmp_path, 0.5, ('text', 'label'))
    assert list(found.splits) == ['train', 'validation']
    assert "test.csv: has no column 'label'" in caplog.text
    assert 'so there is no test split' in caplog.text


def test_without_a_file_for_validation_training_records_are_held_out(tmp_path):
    folder = write(tmp_path, train_csv='a\n1\n2\n3\n4\n', test_csv='a\n5\n')
    found = contents(open_records(None, str(folder), tmp_path, 0.5))
    assert sorted(record['a'] for record in found['train'] + found['validation']) == ['1', '2', '3', '4']
    assert found['train']
    assert found['validation']
    assert found['test'] == [{'a': '5'}]


def test_files_of_a_folder_below_may_have_the_name_of_the_set(tmp_path):
    words = 'a\tX\n'
    for split in ('train', 'dev'):
        write(tmp_path / 'data', **{f'en-ud-{split}_conll': words})
    assert [*open_records(None, str(tmp_path), tmp_path, 0.5).splits] == ['train', 'validation']


@pytest.mark.parametrize(
    ('files', 'message'),
    [
        (
            dict(train_csv='a'),
            r'exactly one file must be named train\.\*, and one validation\.\* .*; there are train\.csv',
        ),
        (dict(dev_csv='a', test_csv=''), r'dev\.csv, test\.csv: named after a split, and there is not both'),
        (
            dict(train_csv='a', train_tsv='a', dev_csv='a'),
            r'exactly one .*; there are dev\.csv, train\.csv, train\.tsv',
        ),
        (dict(train_parquet=''), 'there are none'),
    ],
)
def test_a_folder_needs_one_file_a_split(tmp_path, files, message):
    with pytest.raises(UserError, match=message):
        open_records(None, str(write(tmp_path, **files)), tmp_path, 0.5)


@pytest.mark.parametrize(
    ('name', 'text', 'columns', 'message'),
    [
        ('a_csv', 'text,label\na,1\n', ('lable',), r"has no column 'lable'; did you mean 'label'\? it has text, label"),
        ('a_csv', 'a,1\n', ('0', '2'), r"a\.csv: has no column '2'; it has 0, 1"),
        ('a_csv', '', ('text',), r"a\.csv: has no column 'text'; it has none"),
        ('a_csv', 'text,label\n', (), r'a\.csv: has no records'),
        ('a_csv', 'text,label\na,1\nb\n', (), r'a\.csv, line 3: 1 fields, but the first line has 2'),
        ('a_csv', 'a,1\n"b"c,2\n', ('0',), r'a\.csv, line 2: .*expected after'),
        ('a_csv', 'a,1\n"b,2\n', ('0',), r'a\.csv, line \d: unexpected end of data'),
        ('a_tsv', 'text\tlabel\na\tb\tc\n', (), r'a\.tsv, line 2: 3 fields'),
        ('a_csv', 'text,label,text\na,1,b\n', ('text',), r"a\.csv: 2 columns are named 'text'; names must be unique"),
        ('a_tsv', 'text\ttext\na\tb\n', (), r"a\.tsv: 2 columns are named 'text'"),
        ('a_jsonl', '{"a": 1}\n{"a": 1, "b": 2, "a": 3}\n', (), r"a\.jsonl, line 2: 2 columns are named 'a'"),
        ('a_jsonl', '{}\n{"a": }\n', (), r'a\.jsonl, line 2: is not JSON: Expecting value at character 7'),
        ('a_jsonl', '[' * 100_000, (), r'a\.jsonl, line 1: cannot be read as JSON: maximum recursion depth'),
        ('a_jsonl', f'{{"a": {"9" * 5000}}}', (), r'a\.jsonl, line 1: cannot be read as JSON: Exceeds the limit'),
        ('a_csv', 'a\nb\0\n', (), r'a\.csv, line 2: byte 2 is zero: it looks binary'),
        ('a_jsonl', '[1]\n', (), r'a\.jsonl, line 1: is not a JSON object'),
        ('a_jsonl', '{"a": 1}\n{"b": 1}\n', ('a',), r"a\.jsonl, line 2: has no column 'a'; .*it has b"),
        ('a_conll', 'EU B-ORG\nrejects\n', (), r"a\.conll, line 2: 'rejects' is one column"),
        ('a_conll', 'EU NNP B-ORG\nrejects VBZ\n', (), r'a\.conll, line 2: 2 columns, but the first .* has 3'),
        ('a_conll', '1\tEU\tB\n2\tis\tO\n\n1\tYes\tO\n', (), r'a\.conll: the first column is a word number'),
        ('a_jsonl', '{}\n{"a": "\\ud83d"}\n', (), r"a\.jsonl, line 2: has the lone surrogate '\\ud83d'"),
        ('a_csv', 'a,b\nc\rd,e\n', (), r'a\.csv, line 2: new-line character seen in unquoted field'),
        ('a_conll', CONLL, ('text',), r"a\.conll: has no column 'text'; it has tokens, tags"),
        ('a_conll', '\n\n', (), r'a\.conll: has no records'),
        ('a_parquet', '', (), r'a\.parquet: records are read from files ending in \.csv, \.tsv, \.jsonl'),
        ('a_csv', b'a\xff', (), r'a\.csv, line 1: byte 2 \(0xff\) is not UTF-8'),
    ],
)  # fmt: skip
def test_what_is_malformed_is_told_in_one_line(tmp_path, name, text, columns, message):
    with pytest.raises(UserError, match=message) as caught:
        read(tmp_path, name, text, columns)
    assert '\n' not in str(caught.value)


def test_a_split_without_records_is_refused(tmp_path):
    path = write(tmp_path, a_csv='a,1\n') / 'a.csv'
    with pytest.raises(UserError, match=r'a\.csv: has one record; a validation split needs at least two'):
        open_records(None, str(path), tmp_path, 0.5, ('0',))


@pytest.mark.parametrize('origin', [(None, None), ('glue/sst2', 'a.csv')])
def test_exactly_one_of_name_and_path(tmp_path, origin):
    with pytest.raises(UserError, match="give either 'name', a known dataset, or 'path', your own files"):
        open_records(*origin, tmp_path, 0.5)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UserError, match=r'gone\.csv: there is no such file or folder'):
        open_records(None, str(tmp_path / 'gone.csv'), tmp_path, 0.5)


def test_the_digest_changes_with_the_records_and_their_split(tmp_path):
    path = write(tmp_path / 'a', train_tsv=some(9), dev_tsv=some(4))
    file = write(tmp_path / 'b', a_tsv=some(50)) / 'a.tsv'
    shorter = write(tmp_path / 'c', train_tsv=some(4), dev_tsv=some(9))

    def digest(path, validation=0.5, columns=('0', '1')):
        return open_records(None, str(path), tmp_path, validation, columns).digest

    digests = [digest(path), digest(shorter), digest(path, columns=()), digest(file), digest(file, 0.4)]
    assert len(set(digests)) == len(digests)
    assert digest(path, 0.1) == digests[0]  # which has a split of its own
    assert digest(write(tmp_path / 'd', train_tsv=some(9), dev_tsv=some(4))) == digests[0]


def test_examples_of_tfds_are_decoded(tmp_path):
    found = open_records('saccade_toy_labelled', None, tmp_path, 0.5, ('sentence', 'label'))
    by_text = {record['sentence']: record for record in contents(found)['train']}
    assert by_text['train 2 é'] == {
        'sentence': 'train 2 é',
        'label': 'good',
        'score': 0.5,
        'ner': ['B-X', 'O'],
        'answers': {'text': ['é'], 'answer_start': [3]},
    }
    assert by_text['train 0 é']['ner'] == []
    assert type(by_text['train 0 é']['score']) is float


def test_the_first_split_of_validation_judges(tmp_path):
    found = open_records('saccade_toy_labelled', None, tmp_path, 0.5)
    assert {record['sentence'].split()[0] for record in contents(found)['validation']} == {'validation_matched'}
    assert found.splits['validation'].place(1) == 'saccade_toy_labelled, validation_matched[1]'


def test_splits_of_tests_are_opened_where_they_are_asked_for(tmp_path):
    found = open_records('saccade_toy_labelled', None, tmp_path, 0.5, tests=True)
    without = open_records('saccade_toy_labelled', None, tmp_path, 0.5)
    assert set(found.splits) - set(without.splits) == {'test'}
    assert {record['sentence'].split()[0] for record in contents(found)['test']} == {'test'}
    assert found.digest != without.digest


def test_without_a_validation_split_training_examples_are_held_out(tmp_path):
    found = contents(open_records('saccade_toy_secret', None, tmp_path, 0.05))
    assert {record['sentence'].split()[0] for record in found['train'] + found['validation']} == {'train'}
    assert {record['sentence'].split()[0] for record in found['test']} == {'test'}
    assert found['train']
    assert found['validation']


def test_a_class_that_is_kept_secret_is_none(tmp_path):
    found = open_records('saccade_toy_secret', None, tmp_path, 0.05)
    assert {record['label'] for record in contents(found)['test']} == {None}


def test_a_prepared_folder_is_read_without_its_builder(tmp_path):
    by_name = open_records('saccade_toy_labelled', None, tmp_path, 0.5)
    by_path = open_records(None, str(tmp_path / 'saccade_toy_labelled' / '1.0.0'), tmp_path / 'other', 0.5)
    assert by_path.digest == by_name.digest
    assert contents(by_path) == contents(by_name)


def test_a_feature_that_is_missing_is_named(tmp_path):
    with pytest.raises(UserError, match="saccade_toy_labelled: has no column 'sentense'; did you mean 'sentence'"):
        open_records('saccade_toy_labelled', None, tmp_path, 0.5, ('sentense',))


@pytest.mark.parametrize(
    ('name', 'column', 'kind'),
    [('glue/sst2', 'label', str), ('glue/stsb', 'label', float), ('glue/mnli', 'premise', str)],
)
def test_glue_as_tfds_describes_it(name, column, kind):
    named.register()
    with tfds.testing.mock_data(num_examples=3):
        builder = tfds.builder(name)
        picked = Picked(builder.as_data_source(split='train'), range(3), 'train')
    found = DatasetRecords(name, picked, builder.info.features)
    assert {type(record[column]) for record in found} == {kind}
    assert set(found[0]) == set(builder.info.features)


def test_conll2003_as_tfds_describes_it():
    named.register()
    with tfds.testing.mock_data(num_examples=5):
        builder = tfds.builder('conll2003')
        picked = Picked(builder.as_data_source(split='train'), range(5), 'train')
    found = DatasetRecords('conll2003', picked, builder.info.features)
    assert {*itertools.chain(*(record['ner'] for record in found))} <= {*builder.info.features['ner'].feature.names}
    assert all(type(token) is str for record in found for token in record['tokens'])


def test_both_kinds_are_sources(tmp_path):
    of_files = open_records(None, str(write(tmp_path / 'a', train_tsv=some(9), dev_tsv=some(4))), tmp_path, 0.5)
    of_tfds = open_records('saccade_toy_labelled', None, tmp_path, 0.5)
    assert all(isinstance(found.splits['train'], RecordSource) for found in (of_files, of_tfds))


def test_strings_of_a_column(tmp_path):
    folder = write(tmp_path, train_jsonl='{"a": "b"}\n{"a": 1}\n', dev_jsonl='{"a": "c"}\n')
    found = open_records(None, str(folder), tmp_path, 0.5)
    assert list(strings(found.splits['validation'], 'a')) == ['c']
    with pytest.raises(UserError, match=r"train\.jsonl, line 2: 'a' is not text, but 1"):
        list(strings(found.splits['train'], 'a'))


@pytest.mark.parametrize(
    ('first', 'told'),
    [('sentence\tlabel', True), ('good film\tlabel', False), ('sentence\t1', False), ('sentence\tgood', False)],
)
def test_a_header_that_is_read_as_a_record_is_told(first, told, tmp_path, caplog):
    (tmp_path / 'train.tsv').write_text(f'{first}\na film\tgood\nno film\tbad\n')
    assert len(read_records(tmp_path / 'train.tsv', ('0', '1'))) == 3
    assert ('line 1: is read as a record' in caplog.text and "0 is 'sentence', 1 is 'label'" in caplog.text) == told
    caplog.clear()
    read_records(tmp_path / 'train.tsv', tuple(first.split('\t')))
    assert not caplog.text
