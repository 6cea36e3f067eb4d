# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Corpora by name and by path: splits, digests, preparation once and whole, and what is refused."""

import http.server
import json
import pathlib
import pickle
import socket
import sys
import tempfile
import threading
from types import SimpleNamespace

import pytest
import tensorflow_datasets as tfds
from absl import logging
from tensorflow_datasets.core import constants

from saccade.data.corpus import named
from saccade.data.corpus.corpus import open_corpus
from saccade.progress import listening
from saccade.types import UserError


class _Toy(tfds.core.GeneratorBasedBuilder, skip_registration=True):
    """Records made here, so that no network is asked for them."""

    VERSION = tfds.core.Version('1.0.0')
    FIELDS = ('text',)
    SPLITS = ('train',)

    def _info(self):
        fields = {name: tfds.features.Text() for name in self.FIELDS}
        return tfds.core.DatasetInfo(builder=self, features=tfds.features.FeaturesDict(fields))

    def _split_generators(self, dl_manager):
        return {split: self._generate_examples(split) for split in self.SPLITS}

    def _generate_examples(self, split):
        for number in range(50):
            yield number, dict.fromkeys(self.FIELDS, f'{split} {number} é')


class SaccadeToyBoth(_Toy):
    FIELDS = ('title', 'text')
    SPLITS = ('train', 'validation', 'test')


class SaccadeToyTested(_Toy):
    SPLITS = ('train', 'test', 'extra')


class SaccadeToyWhole(_Toy):
    FIELDS = ('line',)


class SaccadeToyPairs(_Toy):
    FIELDS = ('en', 'de')


class SaccadeToyTrainless(_Toy):
    SPLITS = ('test',)


class SaccadeToyFailing(_Toy):
    def _generate_examples(self, split):
        raise KeyError('no such member\nand more lines')
        yield


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    """No network, no dataset prepared outside the test, no folder left behind by TFDS."""

    def refuse(*args, **kwargs):
        raise OSError('a test asked for the network')

    monkeypatch.setattr(socket, 'getaddrinfo', refuse)
    monkeypatch.setattr(constants, 'DATA_DIR', str(tmp_path / 'nowhere'))
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path))


@pytest.fixture
def essay(tmp_path):
    path = tmp_path / 'essay.txt'
    path.write_text('0123456789' * 10)
    return path


def _texts(corpus):
    return {split: [document.text for document in documents] for split, documents in corpus.splits.items()}


def _open(path, cache):
    return open_corpus(None, str(path), cache)


@pytest.mark.parametrize('both', [(None, None), ('pydocs', 'essay.txt')])
def test_exactly_one_of_name_and_path(tmp_path, both):
    with pytest.raises(UserError, match="give either 'name'"):
        open_corpus(*both, tmp_path)


@pytest.mark.parametrize('validation', [0.0, 1.01, -0.1, 90.0, float('nan')])
def test_validation_is_a_fraction(tmp_path, essay, validation):
    with pytest.raises(UserError, match=r'data\.validation: .* is not a fraction between 0 and 1'):
        open_corpus(None, str(essay), tmp_path, validation)


def test_a_file_is_one_document_a_split(tmp_path, essay):
    corpus = open_corpus(None, str(essay), tmp_path / 'cache', validation=0.25)
    text = essay.read_text()
    assert _texts(corpus) == {'train': [text[:75]], 'validation': [text[75:]]}
    assert corpus.name == 'essay.txt'
    assert corpus.splits['train'][0].id == 'essay.txt[0:75]'


def test_files_named_after_the_splits_are_read_in_their_order(tmp_path):
    (tmp_path / 'texts').mkdir()
    for split in ('test', 'train', 'valid'):
        (tmp_path / 'texts' / f'{split}.txt').write_text(f'the text of {split}')
    corpus = _open(tmp_path / 'texts', tmp_path / 'cache')
    assert list(_texts(corpus).items()) == [
        ('train', ['the text of train']), ('validation', ['the text of valid']), ('test', ['the text of test'])
    ]  # fmt: skip


def test_text_is_read_to_the_character(tmp_path):
    text = 'é\n\t漢字 \U0001f600 ' * 2000 + 'end\x01'
    (tmp_path / 'a.txt').write_text(text * 2, encoding='utf-8')
    corpus = open_corpus(None, str(tmp_path / 'a.txt'), tmp_path / 'cache', validation=0.5)
    assert _texts(corpus) == {'train': [text], 'validation': [text]}


def test_documents_are_a_sequence(tmp_path):
    for number in range(9):
        (tmp_path / 'texts').mkdir(exist_ok=True)
        (tmp_path / 'texts' / f'{number}.txt').write_text(f'text {number}')
    documents = _open(tmp_path / 'texts', tmp_path / 'cache').splits['train']
    assert [documents[number] for number in range(len(documents))] == list(documents)
    assert documents[-1] == list(documents)[-1]
    with pytest.raises(IndexError):
        documents[len(documents)]


def test_a_second_run_does_not_prepare_again(tmp_path, monkeypatch):
    first = open_corpus('saccade_toy_both', None, tmp_path / 'cache')
    monkeypatch.delattr(_Toy, '_generate_examples')
    again = open_corpus('saccade_toy_both', None, tmp_path / 'cache')
    assert again.digest == first.digest
    assert _texts(again) == _texts(first)


def test_the_users_files_are_read_in_place(tmp_path, essay):
    before = _open(essay, tmp_path / 'cache')
    assert not (tmp_path / 'cache').exists()
    essay.write_text('abcdefghij' * 10)
    after = _open(essay, tmp_path / 'cache')
    assert after.digest != before.digest
    assert _texts(after)['validation'] == ['abcdefghij']
    with pytest.raises(UserError, match=r'essay\.txt: changed while it was being read; run again'):
        _texts(before)


@pytest.mark.parametrize('error', [KeyboardInterrupt, UserError, OSError])
def test_an_interrupted_preparation_is_done_again(tmp_path, monkeypatch, error):
    def fail(toy, split):
        yield 0, {'title': '', 'text': ''}
        raise error('cut short')

    with monkeypatch.context() as patch:
        patch.setattr(SaccadeToyBoth, '_generate_examples', fail)
        with pytest.raises(UserError if error is OSError else error, match='cut short'):
            open_corpus('saccade_toy_both', None, tmp_path / 'cache')
    assert len(open_corpus('saccade_toy_both', None, tmp_path / 'cache').splits['train']) == 50


def test_of_two_preparations_at_once_the_later_uses_the_earlier(tmp_path, monkeypatch):
    generate, inner = _Toy._generate_examples, []

    def overtaken(toy, split):
        if not inner:
            inner.append(None)
            inner.append(open_corpus('saccade_toy_both', None, tmp_path / 'cache'))
        return generate(toy, split)

    monkeypatch.setattr(SaccadeToyBoth, '_generate_examples', overtaken)
    outer = open_corpus('saccade_toy_both', None, tmp_path / 'cache')
    assert _texts(outer) == _texts(inner[1])
    assert not list((tmp_path / 'cache').rglob('.draft-*'))


def test_a_folder_of_texts_shows_its_progress(tmp_path):
    begun = []

    def begin(name, total, unit):
        begun.append((name, total, unit))
        return SimpleNamespace(tell=lambda done: None, end=lambda: None)

    (tmp_path / 'texts').mkdir()
    for number in range(4):
        (tmp_path / 'texts' / f'{number}.txt').write_text(f'text {number}')
    with listening(begin):
        open_corpus(None, str(tmp_path / 'texts'), tmp_path / 'cache', 0.25)
    assert begun == [('reading texts', 4, 'files')]


def test_preparation_is_quiet_and_leaves_the_log_as_it_was(tmp_path, essay, capfd):
    verbosity = logging.get_verbosity()
    _open(essay, tmp_path / 'cache')
    open_corpus('saccade_toy_both', None, tmp_path)
    assert capfd.readouterr() == ('', '')
    assert logging.get_verbosity() == verbosity


def test_cache_that_cannot_be_written_is_named(essay):
    with pytest.raises(UserError, match=r'essay\.txt/.*: cannot be prepared \(.*Not a directory'):
        open_corpus('saccade_toy_both', None, essay)


def test_full_disk_is_told(tmp_path, monkeypatch):
    def full(*args, **kwargs):
        raise RuntimeError('write() failed: No space left on device')

    monkeypatch.setattr(SaccadeToyBoth, 'download_and_prepare', full)
    with pytest.raises(UserError, match=r'cannot be prepared .*No space left on device'):
        open_corpus('saccade_toy_both', None, tmp_path)


def test_documents_can_be_sent_to_a_worker(tmp_path, essay):
    documents = _open(essay, tmp_path).splits['train']
    assert list(pickle.loads(pickle.dumps(documents))) == list(documents)


def test_dataset_with_both_splits(tmp_path):
    corpus = open_corpus('saccade_toy_both', None, tmp_path)
    texts = _texts(corpus)
    assert sorted(texts['train']) == sorted(f'train {number} é' for number in range(50))
    assert all(text.startswith('validation ') for text in texts['validation'])
    assert corpus.splits['validation'][3].id == 'validation[3]'
    assert corpus.name == 'saccade_toy_both'


def test_a_test_split_is_for_the_test_where_there_is_no_validation(tmp_path):
    texts = _texts(open_corpus('saccade_toy_tested', None, tmp_path))
    assert {split: {text.split()[0] for text in found} for split, found in texts.items()} == {
        'train': {'train'},
        'validation': {'train'},
        'test': {'test'},
    }


@pytest.mark.parametrize('name', ['saccade_toy_whole', 'saccade_toy_tested'])
def test_validation_is_carved_from_train_where_there_is_none(tmp_path, name):
    corpus = open_corpus(name, None, tmp_path, validation=0.2)
    texts = _texts(corpus)
    assert sorted(texts['train'] + texts['validation']) == sorted(f'train {number} é' for number in range(50))
    assert 4 <= len(texts['validation']) <= 16
    assert _texts(open_corpus(name, None, tmp_path, validation=0.2)) == texts
    assert not set(corpus.splits['train'].rows) & set(corpus.splits['validation'].rows)


def test_digest_of_a_dataset(tmp_path):
    digests = [
        open_corpus(name, None, tmp_path, validation).digest
        for name, validation in [
            ('saccade_toy_both', 0.1),
            ('saccade_toy_both', 0.2),
            ('saccade_toy_whole', 0.1),
            ('saccade_toy_whole', 0.2),
        ]
    ]
    assert digests[0] == digests[1]  # it has a split of its own
    assert len(set(digests)) == 3
    assert open_corpus('saccade_toy_whole', None, tmp_path, 0.1).digest == digests[2]


def test_too_few_documents_to_carve_from(tmp_path):
    with pytest.raises(UserError, match='saccade_toy_whole: 50 examples leave none for validation'):
        open_corpus('saccade_toy_whole', None, tmp_path, validation=1e-6)


def test_features_are_listed_where_none_is_the_text(tmp_path):
    with pytest.raises(UserError, match="has no feature 'text' and not exactly one string; it has de, en"):
        open_corpus('saccade_toy_pairs', None, tmp_path)


def test_splits_are_listed_where_none_is_for_training(tmp_path):
    with pytest.raises(UserError, match="has no split 'train'; it has test"):
        open_corpus('saccade_toy_trainless', None, tmp_path)


def test_builder_that_fails_is_told_in_one_line(tmp_path):
    with pytest.raises(UserError, match='saccade_toy_failing: TFDS cannot prepare it') as caught:
        open_corpus('saccade_toy_failing', None, tmp_path)
    assert '\n' not in str(caught.value)


def test_prepared_folder_is_read_without_its_builder(tmp_path):
    by_name = open_corpus('saccade_toy_both', None, tmp_path)
    by_path = open_corpus(None, str(tmp_path / 'saccade_toy_both' / '1.0.0'), tmp_path / 'other')
    assert by_path.digest == by_name.digest
    assert _texts(by_path) == _texts(by_name)
    assert not (tmp_path / 'other').exists()


@pytest.mark.parametrize('name', ['dataset_info.json', 'features.json', 'digests.json', '*-train.array_record*'])
@pytest.mark.parametrize('damage', [lambda path: path.unlink(), lambda path: path.write_bytes(path.read_bytes()[:9])])
def test_a_damaged_dataset_by_name_is_made_anew_and_by_path_refused(tmp_path, name, damage):
    corpus = open_corpus('saccade_toy_both', None, tmp_path)
    folder, wanted = tmp_path / 'saccade_toy_both' / '1.0.0', _texts(corpus)
    damage(next(folder.glob(name)))
    if name != 'digests.json' and (folder / 'dataset_info.json').exists():  # the first is ours, the second tells TFDS's
        with pytest.raises(UserError, match=r'1\.0\.0: cannot be read as a prepared TFDS dataset') as refusal:
            _texts(open_corpus(None, str(folder), tmp_path / 'cache'))
        assert '\n' not in str(refusal.value)
    assert _texts(open_corpus('saccade_toy_both', None, tmp_path)) == wanted


def test_a_flipped_bit_of_a_prepared_folder_is_refused_where_it_is_read(tmp_path):
    open_corpus('saccade_toy_both', None, tmp_path)
    folder = tmp_path / 'saccade_toy_both' / '1.0.0'
    (path,) = folder.glob('*-train.array_record*')
    content = bytearray(path.read_bytes())
    content[100] ^= 1
    path.write_bytes(content)
    with pytest.raises(UserError, match='cannot be read'):
        _texts(open_corpus(None, str(folder), tmp_path / 'cache'))


def test_dataset_in_a_folder_of_tfds_is_found(tmp_path, monkeypatch):
    open_corpus('saccade_toy_both', None, tmp_path / 'shared')
    monkeypatch.setattr(constants, 'DATA_DIR', str(tmp_path / 'shared'))
    open_corpus('saccade_toy_both', None, tmp_path / 'cache')
    assert not (tmp_path / 'cache').exists()


def test_dataset_without_random_access_is_refused(tmp_path):
    open_corpus('saccade_toy_both', None, tmp_path)
    info = tmp_path / 'saccade_toy_both' / '1.0.0' / 'dataset_info.json'
    info.write_text(json.dumps(json.loads(info.read_text()) | {'fileFormat': 'tfrecord'}))
    for file in info.parent.glob('*.array_record*'):
        file.rename(str(file).replace('array_record', 'tfrecord'))
    with pytest.raises(UserError, match=r"is prepared as tfrecord, without random access; .*'array_record'"):
        open_corpus(None, str(info.parent), tmp_path)


@pytest.mark.parametrize(
    ('name', 'message'),
    [
        ('imdb_review', "there is no dataset 'imdb_review'; did you mean 'imdb_reviews'"),
        ('pydoc', "did you mean 'pydocs'"),
        ('wmt17_translat/de-en', "did you mean 'wmt17_translate'"),
        ('glue/col', "glue: there is no config 'col'; did you mean 'cola'"),
        ('xyzzy', "there is no dataset 'xyzzy'; see https"),
        ('huggingface:imdb', "there is no dataset 'huggingface'; see https"),
        ('', "there is no dataset ''; see https"),
    ],
)
def test_unknown_name_is_refused_with_the_nearest(tmp_path, name, message):
    with pytest.raises(UserError, match=message):
        open_corpus(name, None, tmp_path)


def test_known_name_without_network(tmp_path, monkeypatch):
    monkeypatch.setattr(tfds.core.DatasetBuilder, 'download_and_prepare', None)
    message = 'imdb_reviews: is not prepared here, and there is no network to http://ai.stanford.edu; prepare it'
    with pytest.raises(UserError, match=message):
        open_corpus('imdb_reviews', None, tmp_path)


@pytest.mark.parametrize('name', ['lm1b', 'cnn_dailymail'])
def test_dataset_that_needs_tensorflow_says_so_before_it_downloads(tmp_path, monkeypatch, name):
    monkeypatch.setitem(sys.modules, 'tensorflow', None)
    monkeypatch.setattr(named, 'reachable', lambda hosts: True)
    monkeypatch.setattr(tfds.core.DatasetBuilder, 'download_and_prepare', None)
    with pytest.raises(UserError, match=f'{name}: TFDS needs TensorFlow to prepare it; prepare it on another machine'):
        open_corpus(name, None, tmp_path)


def test_hosts_that_never_answer_are_given_up(monkeypatch):
    never = threading.Event()
    monkeypatch.setattr(named, 'is_answering', lambda host: never.wait(60))
    monkeypatch.setattr(named, '_PATIENCE', 0.01)
    assert not named.reachable(['http://a', 'http://b'])
    never.set()


def test_one_host_that_answers_is_a_network(monkeypatch):
    monkeypatch.setattr(named, 'is_answering', lambda host: host == 'http://b')
    assert named.reachable(['http://a', 'http://b', 'http://c'])


def test_a_refusal_is_an_answer_and_a_closed_port_is_none(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setenv('no_proxy', '*')
    with http.server.ThreadingHTTPServer(('127.0.0.1', 0), http.server.BaseHTTPRequestHandler) as server:
        host = f'http://127.0.0.1:{server.server_port}'
        threading.Thread(target=server.serve_forever, daemon=True).start()
        answered = named.is_answering(host)
        server.shutdown()
    assert answered
    assert not named.is_answering(host)


FEATURES_OF_TFDS = 'tensorflow_datasets.core.features'
EVIL_FEATURE = {'type': 'evil_features.Text', 'content': {}}
SPELLINGS = {
    'camel case': json.dumps({'pythonClassName': 'evil_features.Text', 'text': {}}),
    'snake case': json.dumps({'python_class_name': 'evil_features.Text', 'text': {}}),
    'escaped letters': json.dumps({'pythonClassName': 'evil_features.Text'}).replace('Class', '\\u0043lass'),
    'legacy': json.dumps({'type': 'evil_features.Text', 'content': {}}),
    'in a dict': json.dumps({'type': f'{FEATURES_OF_TFDS}.features_dict.FeaturesDict', 'content': {'a': EVIL_FEATURE}}),
    'as text': json.dumps(
        {
            'pythonClassName': f'{FEATURES_OF_TFDS}.features_dict.FeaturesDict',
            'jsonFeature': {'json': json.dumps({'a': EVIL_FEATURE})},
        }
    ),
    'a module of TFDS': json.dumps({'pythonClassName': 'tensorflow_datasets.scripts.cli.main.Text', 'text': {}}),
}


@pytest.mark.parametrize('by_name', [False, True])
@pytest.mark.parametrize('spelling', SPELLINGS)
def test_a_prepared_dataset_imports_no_module_that_its_features_name(tmp_path, monkeypatch, spelling, by_name):
    (tmp_path / 'evil_features.py').write_text(f'open({str(tmp_path / "executed")!r}, "w")')
    monkeypatch.syspath_prepend(str(tmp_path))
    cache = tmp_path / 'cache'
    builder = SaccadeToyWhole(data_dir=cache if by_name else tmp_path / 'data', file_format='array_record')
    builder.download_and_prepare()
    features = pathlib.Path(builder.data_dir) / 'features.json'
    features.write_text(SPELLINGS[spelling])
    with pytest.raises(UserError, match=r'features\.json: \S+\.Text is not a known feature of TFDS'):
        open_corpus(*((builder.name, None) if by_name else (None, builder.data_dir)), cache)
    assert not (tmp_path / 'executed').exists()
    assert 'tensorflow_datasets.scripts.cli.main' not in sys.modules
