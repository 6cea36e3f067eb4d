# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Prepared text: made once, whole or not at all, and every byte accounted for."""

import dataclasses
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import saccade.data.text.stream as text_module
from saccade.build import build
from saccade.data import cache
from saccade.data.corpus.corpus import Corpus
from saccade.data.corpus.document import TextDocument
from saccade.data.text.stream import TextData, bits_per_byte
from saccade.data.tokenizer.file import open_tokenizer
from saccade.data.tokenizer.tokenizer import Tokenizer
from saccade.types import UserError

TRAIN = [f'TextDocument {number} says: {"naïve words, " * (number % 5)}the end.\n' for number in range(30)]
VALIDATION = ['TextDocument 7 says: naïve.', 'words.']


def _documents(texts, prefix):
    return tuple(TextDocument(f'{prefix}-{number}', text) for number, text in enumerate(texts))


def _corpus(train=TRAIN, validation=VALIDATION, digest='a'):
    splits = {'train': _documents(train, 'train'), 'validation': _documents(validation, 'validation')}
    return Corpus(splits=splits, digest=digest, name='toy')


@pytest.fixture
def use(monkeypatch):
    def replace(corpus):
        monkeypatch.setattr(text_module, 'open_corpus', lambda *asked: corpus)

    replace(_corpus())
    return replace


def _data(tokenizer='Byte', pack='Packed', context_length=16, **arguments):
    spec = {
        'use': 'data.text.stream:TextData',
        'tokenizer': {
            'use': tokenizer if ':' in tokenizer else f'data.tokenizer.{tokenizer.lower()}:{tokenizer}',
            **arguments,
        },
        'context_length': context_length,
        'pack': {'use': f'data.rows.pack:{pack}'},
        'path': 'toy.txt',
    }
    return build(spec)()


def _text(prepared, split):
    """The text that the pieces of a split hold, without the overlaps."""
    rows = prepared.splits[split].rows
    starts, lengths = rows.pieces()
    spans = zip(starts, lengths, strict=True)
    return prepared.processor.decode(np.concatenate([rows.tokens[start + 1 : start + n] for start, n in spans]))


@pytest.mark.usefixtures('use')
@pytest.mark.parametrize('pack', ['Packed', 'Padded', 'Windows'])
@pytest.mark.parametrize('tokenizer', [{'tokenizer': 'Byte'}, {'tokenizer': 'BPE', 'vocabulary': 290}], ids=str)
def test_every_byte_is_a_target(tmp_path, pack, tokenizer):
    prepared = _data(pack=pack, **tokenizer).prepare(tmp_path)
    for name, texts in [('train', TRAIN), ('validation', VALIDATION)]:
        split = prepared.splits[name]
        assert _text(prepared, name) == ''.join(texts)
        assert split.bytes == len(''.join(texts).encode())
        assert split.documents == len(texts)
        assert split.tokens == split.targets + 1 == len(split.rows.tokens)
        assert max(split.rows.tokens) < prepared.processor.size


@pytest.mark.usefixtures('use')
def test_documents_reach_from_end_to_end(tmp_path):
    prepared = _data(pack='Padded', context_length=200).prepare(tmp_path)
    row = prepared.splits['validation'].rows[1]
    ids = row['tokens'][row['segments'] == 1]
    assert ids.tolist() == [
        prepared.processor.end,
        *prepared.processor.encode('words.'),
        prepared.processor.end,
    ]


@pytest.mark.usefixtures('use')
def test_without_an_end_token_documents_stand_alone(tmp_path):
    prepared = _data(pack='Padded', context_length=60, end=None).prepare(tmp_path)
    row = prepared.splits['validation'].rows[1]
    assert bytes(row['tokens'][row['segments'] == 1].tolist()) == b'words.'
    assert prepared.splits['validation'].targets == len(''.join(VALIDATION).encode()) - 2


@pytest.mark.usefixtures('use')
def test_windows_without_an_end_token_are_the_text_itself(tmp_path):
    prepared = _data('Byte', 'Windows', end=None).prepare(tmp_path)
    assert bytes(prepared.splits['train'].rows.tokens.tolist()).decode() == ''.join(TRAIN)


def test_second_call_reads_no_document(tmp_path, use):
    first = _data('BPE', vocabulary=290).prepare(tmp_path)
    use(Corpus(splits={'train': [], 'validation': []}, digest='a', name='toy'))
    second = _data('BPE', vocabulary=290).prepare(tmp_path)
    for name in first.splits:
        assert np.array_equal(first.splits[name].rows.tokens, second.splits[name].rows.tokens)
        assert len(first.splits[name].rows) == len(second.splits[name].rows)
        assert first.splits[name].targets == second.splits[name].targets
    assert isinstance(second.splits['train'].rows.tokens, np.memmap)


def test_another_corpus_or_setting_is_prepared_anew(tmp_path, use):
    def folders():
        return {path for path in tmp_path.iterdir() if path.is_dir() and not path.name.startswith('tokenizer-')}

    seen = []
    for data in [_data(), _data(context_length=17), _data(pack='Padded'), _data(end=None)]:
        data.prepare(tmp_path)
        seen.append(len(folders()))
    use(_corpus(digest='b'))
    _data().prepare(tmp_path)
    assert [*seen, len(folders())] == [1, 2, 3, 4, 5]


def test_a_kept_tokenizer_is_used_and_shares_the_cache(tmp_path, use):
    cache = tmp_path / 'cache'
    _data('Character').prepare(cache).processor.save(tmp_path)
    kept = Tokenizer.load(tmp_path / 'tokenizer.json')
    before = set(cache.iterdir())
    use(Corpus(splits={'train': [], 'validation': []}, digest='a', name='toy'))
    prepared = _data('Character').prepare(cache, kept)
    assert set(cache.iterdir()) == before
    assert prepared.processor.digest == kept.digest


def test_a_kept_tokenizer_is_not_trained_again(tmp_path, use):
    _data('Character').prepare(tmp_path / 'a').processor.save(tmp_path)
    use(_corpus(train=['ent ' * 9], validation=['ten'], digest='b'))
    assert _data('Character').prepare(tmp_path / 'b', open_tokenizer(tmp_path / 'tokenizer.json')).processor.size > 10


@pytest.mark.usefixtures('use')
def test_many_preparing_at_once(tmp_path):
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: _data('BPE', vocabulary=290).prepare(tmp_path), range(4)))
    assert len({len(result.splits['train'].rows) for result in results}) == 1
    assert not list(tmp_path.glob('.draft-*'))
    assert len(list(tmp_path.glob('[!.]*'))) == 2


@pytest.mark.usefixtures('use')
def test_a_failure_leaves_nothing_behind(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr(text_module.np, 'save', full)
    with pytest.raises(UserError, match='No space left'):
        _data().prepare(tmp_path)
    assert [path.name.partition('-')[0] for path in tmp_path.iterdir() if path.is_dir()] == ['tokenizer']


@pytest.mark.parametrize('pack', ['Packed', 'Windows'])
def test_corpus_too_short_for_a_row(tmp_path, use, pack):
    use(_corpus(train=['Twelve bytes']))
    with pytest.raises(UserError, match=r'train split has 14 tokens, .* needs at least 15'):
        _data(pack=pack, context_length=14).prepare(tmp_path)
    assert len(_data(pack=pack, context_length=13).prepare(tmp_path).splits['train'].rows) == 1


@pytest.mark.parametrize('validation', [[], [''], ['', '']])
def test_empty_split(tmp_path, use, validation):
    use(_corpus(validation=validation))
    with pytest.raises(UserError, match='validation split has 0 tokens'):
        _data().prepare(tmp_path)


def test_documents_of_one_token(tmp_path, use):
    use(_corpus(train=list('abcdefghijklmnopqrstuvwxyz')))
    with pytest.raises(UserError, match='no document of the train split has two tokens'):
        _data(end=None).prepare(tmp_path)


def test_empty_documents_are_passed_over(tmp_path, use):
    use(_corpus(validation=['', 'words.', '']))
    split = _data().prepare(tmp_path).splits['validation']
    assert (split.documents, split.tokens) == (1, 8)


def test_a_character_that_training_lacks_is_named_with_its_document(tmp_path, use):
    use(_corpus(validation=['words', 'Größe']))
    with pytest.raises(UserError, match=r"document validation-1: .*'G'"):
        _data('Character').prepare(tmp_path)


@pytest.mark.long
def test_large_vocabularies_take_more_bits(tmp_path, use):
    use(_corpus(train=[' '.join(f'w{number}' for number in range(70_000))], validation=['w1 w2']))
    prepared = _data('Word', vocabulary=70_002).prepare(tmp_path)
    assert prepared.splits['train'].rows.tokens.dtype == np.uint32
    assert _text(prepared, 'train').split()[-1] == 'w69999'


def test_groups_do_not_change_the_stream(tmp_path, use, monkeypatch):
    whole = _data().prepare(tmp_path / 'a')
    monkeypatch.setattr(cache, '_GROUP', 50)
    parts = _data().prepare(tmp_path / 'b')
    assert np.array_equal(whole.splits['train'].rows.tokens, parts.splits['train'].rows.tokens)


def test_bits_per_byte(tmp_path, use):
    split = dataclasses.replace(_data().prepare(tmp_path).splits['train'], targets=50, bytes=200)
    assert bits_per_byte(8 * math.log(2), split) == pytest.approx(2.0)


def test_bad_context():
    with pytest.raises(UserError, match='context_length'):
        _data(context_length=0)


def test_a_part_of_the_wrong_kind_is_refused():
    with pytest.raises(UserError, match='Byte is not a Pack'):
        build(
            {
                'use': 'data.text.stream:TextData',
                'tokenizer': {'use': 'data.tokenizer.byte:Byte'},
                'context_length': 4,
                'pack': {'use': 'data.tokenizer.byte:Byte'},
            }
        )


@pytest.mark.usefixtures('use')
def test_a_tokenizer_file_that_has_changed_is_read_again(tmp_path):
    vocabulary = tmp_path / 'vocab.txt'
    data = _data('data.tokenizer.file:TokenizerFile', path=str(vocabulary))
    for words in (['[UNK]', 'the'], ['[UNK]', '[SEP]', 'the', 'words']):
        vocabulary.write_text('\n'.join(words))
        prepared = data.prepare(tmp_path / 'cache')
        assert prepared.processor.size == len(words)
        assert prepared.splits['train'].rows.tokens.max() < len(words)


def test_text_data_is_comparable():
    assert _data() == _data()
    assert isinstance(_data(), TextData)
