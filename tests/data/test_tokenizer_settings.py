# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Tokenizers of Hugging Face folders: special tokens by id, settings next to the file, lines of a vocabulary."""

import json

import numpy as np
import pytest
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

from saccade.data.corpus.document import TextDocument
from saccade.data.rows.frame import Frame
from saccade.data.rows.pair_frame import PairFrame
from saccade.data.text.stream import _write_stream
from saccade.data.tokenizer.bpe import BPE
from saccade.data.tokenizer.byte import Byte
from saccade.data.tokenizer.character import Character
from saccade.data.tokenizer.file import TokenizerFile, find_tokenizer, open_tokenizer
from saccade.data.tokenizer.tokenizer import BERT, UNKNOWN, Around, Tokenizer
from saccade.data.tokenizer.unigram import Unigram
from saccade.data.tokenizer.word import Word
from saccade.data.tokenizer.word_piece import WordPiece
from saccade.types import UserError

LETTERS = 'thecast<>/ -'
PIECES = ['<pad>', '</s>', '<unk>', '▁', *LETTERS.replace(' ', ''), '▁the', '▁cat']


def unigram() -> tokenizers.Tokenizer:
    """T5's: special tokens are pieces of the model too, with the score 0."""
    scores = [(piece, 0.0 if number < 3 else -2.0) for number, piece in enumerate(PIECES)]
    backend = tokenizers.Tokenizer(models.Unigram(scores, 2))
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.add_special_tokens(PIECES[:3])
    return backend


def words(*names: str) -> tokenizers.Tokenizer:
    backend = tokenizers.Tokenizer(models.WordLevel({name: at for at, name in enumerate(names)}, unk_token=names[0]))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return backend


def folder(path, backend, **files):
    """Write a tokenizer.json, and other files by name without .json."""
    backend.save(str(path / 'tokenizer.json'))
    for name, content in files.items():
        (path / f'{name}.json').write_text(json.dumps(content))
    return path / 'tokenizer.json'


def test_a_special_token_that_a_text_spells_is_text_to_a_unigram(tmp_path):
    tokenizer = open_tokenizer(folder(tmp_path, unigram()))
    spelled = [PIECES.index(piece) for piece in ('▁the', '▁', '<', '/', 's', '>', '▁cat')]
    assert tokenizer.encode('the </s> cat') == spelled
    assert tokenizer.encode_places(['the </s> cat'])[0] == (
        spelled, [(0, 3), (3, 4), (4, 5), (5, 6), (6, 7), (7, 8), (8, 12)],
    )  # fmt: skip
    assert (tokenizer.end, tokenizer.token(1), tokenizer.special('</s>')) == (1, '</s>', 1)
    assert tokenizer.decode([*spelled, 1]) == 'the </s> cat' or tokenizer.decode([1]) == ''


SPELLED = {
    'words': Word(30, specials=BERT),
    'characters': Character(specials=BERT),
    'bytes': Byte(specials=BERT),
    'byte pairs': BPE(300, specials=BERT),
    'word pieces': WordPiece(120, specials=(*BERT, '[TURN]')),
    'unigram': Unigram(90, specials=BERT),
}


@pytest.mark.parametrize('case', SPELLED)
def test_a_special_token_that_a_text_spells_is_text_to_those_trained_here(case):
    part = SPELLED[case]
    tokenizer = part.train(['the # cat $ sat [ on ] the mat CLS SEP MASK PAD UNK end <|>'] * 3)
    special = {*tokenizer.specials.values()} - tokenizer.unknown
    assert len(special) > 1
    for name in part.reserved:
        ids = tokenizer.encode(f'the {name} cat')
        assert special.isdisjoint(ids)
        assert len(ids) >= 3


def test_a_special_token_of_one_character_is_refused():
    with pytest.raises(UserError, match="specials: '#' might be a character of a text"):
        Character(end=None, specials=('#', '$'))


@pytest.mark.parametrize('role', ['pad_token', 'eos_token'])
def test_a_character_with_a_role_is_still_a_character_of_a_text(tmp_path, role):
    """As the padding of some folders of CLIP."""
    alphabet = {'!': 0, '!</w>': 1, 'a': 2, 'a</w>': 3, '!!</w>': 4, '[UNK]': 5}
    merges = [('!', '!</w>')]
    backend = tokenizers.Tokenizer(models.BPE(alphabet, merges, unk_token='[UNK]', end_of_word_suffix='</w>'))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = open_tokenizer(folder(tmp_path, backend, tokenizer_config={role: '!'}))
    assert tokenizer.role(role) == 0
    assert [tokenizer.encode(text) for text in ('a!', 'a!!', 'a !a', '!!a')] == [[3, 1], [3, 4], [3, 1, 3], [4, 3]]


def test_a_merge_that_makes_a_special_token_is_not_used(tmp_path):
    backend = tokenizers.Tokenizer(models.BPE({'<': 0, 's': 1, '>': 2, '<s': 3, '<s>': 4}, [('<', 's'), ('<s', '>')]))
    backend.add_special_tokens(['<s>'])
    assert open_tokenizer(folder(tmp_path, backend)).encode('<s>') == [3, 2]


def test_an_unknown_token_that_a_text_spells_is_its_letters(tmp_path):
    tokenizer = open_tokenizer(folder(tmp_path, unigram()))
    assert tokenizer.encode('<unk>') == [PIECES.index('▁'), PIECES.index('<'), 2, PIECES.index('>')]  # unk: no letters


@pytest.mark.parametrize('break_', ['\u2028', '\u0085', '\x0b', '\x0c', '\x1c', '\x1d', '\x1e', '\u2029'])
@pytest.mark.parametrize('end', ['\n', '\r\n'])
def test_a_line_of_a_vocabulary_ends_with_a_newline_alone(tmp_path, break_, end):
    vocabulary = [*BERT, break_, 'the', f'a{break_}b', 'cat']
    (tmp_path / 'vocab.txt').write_bytes((end.join(vocabulary) + end).encode())
    tokenizer = open_tokenizer(tmp_path / 'vocab.txt')
    assert tokenizer.encode('the cat') == [6, 8]
    assert tokenizer.size == 9


def test_siglip_2_lower_cases_and_a_flag_that_has_no_effect_is_named(tmp_path, caplog):
    place = folder(tmp_path, unigram())
    (tmp_path / 'tokenizer_config.json').write_text('{"tokenizer_class": "Siglip2Tokenizer", "do_lower_case": true}')
    tokenizer = open_tokenizer(place)
    assert tokenizer.encode('A CAT') == tokenizer.encode('a cat')
    assert not caplog.text
    (tmp_path / 'tokenizer_config.json').write_text('{"do_lower_case": true}')
    tokenizer = open_tokenizer(place)
    assert tokenizer.encode('A CAT') != tokenizer.encode('a cat')
    assert 'do_lower_case is true, but tokenizer.json keeps capitals, as in transformers' in caplog.text


CASED = [*BERT, 'cafe', 'Café', 'café', '東', '京', '東京', 'Cafe']
SETTINGS = [
    ({}, 'Café 東京', ['cafe', '東', '京']),
    ({'do_lower_case': False}, 'Café 東京', ['Café', '東', '京']),
    ({'strip_accents': False}, 'Café 東京', ['café', '東', '京']),
    ({'do_lower_case': False, 'strip_accents': True}, 'Café', ['Cafe']),
    ({'tokenize_chinese_chars': False}, '東京', ['東京']),
]


@pytest.mark.parametrize(('settings', 'text', 'tokens'), SETTINGS)
@pytest.mark.parametrize('file', ['vocab.txt', 'tokenizer.json'])
def test_settings_of_a_bert_are_obeyed(tmp_path, file, settings, text, tokens):
    (tmp_path / 'vocab.txt').write_text('\n'.join(CASED) + '\n')
    if file == 'tokenizer.json':
        folder(tmp_path, TokenizerFile(str(tmp_path / 'vocab.txt')).train([]).backend)
    (tmp_path / 'tokenizer_config.json').write_text(json.dumps(settings))
    tokenizer = open_tokenizer(find_tokenizer(tmp_path))
    assert [*map(tokenizer.token, tokenizer.encode(text))] == tokens
    assert TokenizerFile(str(tmp_path / file)).train([]).digest == tokenizer.digest


def test_the_digest_of_a_file_changes_with_what_is_next_to_it(tmp_path):
    (tmp_path / 'vocab.txt').write_text('\n'.join(CASED) + '\n')
    before = TokenizerFile(str(tmp_path / 'vocab.txt')).digest
    (tmp_path / 'tokenizer_config.json').write_text('{"do_lower_case": false}')
    assert TokenizerFile(str(tmp_path / 'vocab.txt')).digest != before


def test_a_space_before_a_text(tmp_path):
    backend = BPE(300).train(['the cat the cat']).backend
    backend.save(str(tmp_path / 'tokenizer.json'))
    plain = open_tokenizer(tmp_path / 'tokenizer.json').encode('the')
    (tmp_path / 'tokenizer_config.json').write_text('{"add_prefix_space": true}')
    assert open_tokenizer(tmp_path / 'tokenizer.json').encode('the') != plain
    assert open_tokenizer(tmp_path / 'tokenizer.json').encode('the') == Tokenizer(backend).encode(' the')


def lower() -> tokenizers.Tokenizer:
    backend = words('[UNK]', 'a')
    backend.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    return backend


REFUSED = [
    (
        unigram,
        {'add_prefix_space': False},
        'add_prefix_space is false, and the Metaspace of tokenizer.json does the opp',
    ),
    (lower, {'do_lower_case': False}, 'do_lower_case is false, and the Lowercase of tokenizer.json does the opposite'),
    (unigram, {'do_lower_case': 'no'}, None),
    (lower, {'do_lower_case': 'no'}, "do_lower_case must be true or false, not 'no'"),
    (unigram, {'added_tokens_decoder': {'3': {'content': '</s>'}}}, "'</s>' has the id 3, and 1 in the tokenizer"),
    (unigram, {'added_tokens_decoder': ['x']}, 'are not in the form of transformers'),
    (unigram, {'eos_token': 5}, 'are not in the form of transformers'),
    (unigram, {'mask_token': {'lstrip': True}}, 'are not in the form of transformers'),
    (unigram, {'additional_special_tokens': [[]]}, 'are not in the form of transformers'),
    (unigram, {'sp_model_kwargs': {'enable_sampling': True}}, 'sp_model_kwargs.enable_sampling is not supported'),
]


@pytest.mark.parametrize(('make', 'settings', 'message'), REFUSED)
def test_settings_that_contradict_or_are_not_supported(tmp_path, make, settings, message):
    path = folder(tmp_path, make(), tokenizer_config=settings)
    if message is None:  # nothing in this tokenizer has to do with case
        assert open_tokenizer(path).size == len(PIECES)
        return
    with pytest.raises(UserError, match=f'tokenizer_config.json: .*{message}'):
        open_tokenizer(path)


@pytest.mark.parametrize(
    'settings', [{'tokenizer_class': 'BertJapaneseTokenizer'}, {'do_basic_tokenize': False}, {'never_split': ['a']}]
)
def test_a_vocabulary_of_another_tokenizer_is_refused(tmp_path, settings):
    (tmp_path / 'vocab.txt').write_text('\n'.join(CASED) + '\n')
    (tmp_path / 'tokenizer_config.json').write_text(json.dumps(settings))
    with pytest.raises(UserError, match=f'tokenizer_config.json: {next(iter(settings))} is .*not supported'):
        open_tokenizer(tmp_path / 'vocab.txt')


def test_a_vocabulary_of_pairs_needs_its_class_and_lines_of_two_pieces(tmp_path):
    vocabulary = {**{symbol: at for at, symbol in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}, 'th': 256}
    (tmp_path / 'vocab.json').write_text(json.dumps(vocabulary))
    assert find_tokenizer(tmp_path) is None  # as Marian's
    (tmp_path / 'merges.txt').write_text('#version: 0.2\nt h\n')
    with pytest.raises(UserError, match='tokenizer_class is missing'):
        open_tokenizer(find_tokenizer(tmp_path))
    (tmp_path / 'config.json').write_text('{"model_type": "gpt2"}')
    assert open_tokenizer(find_tokenizer(tmp_path)).encode('th')[0] == 256
    (tmp_path / 'merges.txt').write_text('#version: 0.2\nt h\nt h e\n')
    with pytest.raises(UserError, match=r'merges\.txt, line 3: must be two pieces'):
        open_tokenizer(tmp_path / 'vocab.json')


def test_special_tokens_are_taken_by_role(tmp_path):
    config = {'eos_token': '<stop>', 'cls_token': {'content': '<c>', 'lstrip': False}, 'sep_token': '<d>'}
    path = folder(tmp_path, words('<u>', '</s>', '<stop>', '<c>', '<d>', 'a', '<hole>'), tokenizer_config=config)
    (tmp_path / 'special_tokens_map.json').write_text('{"mask_token": "<hole>"}')
    tokenizer = open_tokenizer(path)
    assert (tokenizer.end, tokenizer.role('mask_token')) == (2, 6)
    assert Frame.of(tokenizer, 8) == Frame.of_bert(8, 3, 4)
    assert tokenizer.encode('a <stop> <c> </s>') == [5, 0, 0, 1]  # </s> is a word here


GENERATION = {'eos_token_id': [3, 2], 'decoder_start_token_id': 1, 'pad_token_id': 1}


def test_ids_of_generation_name_what_the_tokenizer_does_not(tmp_path):
    path = folder(tmp_path, words('<u>', '<p>', '</s>', '<stop>', 'a'), config={'model_type': 't5', **GENERATION})
    tokenizer = open_tokenizer(path)
    assert (tokenizer.end, tokenizer.role('decoder_start_token')) == (3, 1)
    frame = PairFrame.of(tokenizer, 4, 4)
    assert (frame.start, frame.end, frame.read([4])) == (1, 3, [4, 3])
    assert PairFrame.of(tokenizer, 4, 4, '</s>' if '</s>' in tokenizer.specials else None).start == 1
    (tmp_path / 'generation_config.json').write_text('{"eos_token_id": 2}')
    assert open_tokenizer(path).end == 2


def test_padding_by_id_alone_makes_no_token_special(tmp_path):
    path = folder(tmp_path, words('<u>', '!', '</s>'), config={'model_type': 'gpt2', 'pad_token_id': 1})
    assert open_tokenizer(path).encode('! </s>') == [1, 2]


@pytest.mark.parametrize('number', [-1, 2**40, 'a', True, 1.5])
def test_an_id_that_there_is_not_names_nothing(tmp_path, number):
    path = folder(tmp_path, words('<u>', 'a'), config={'model_type': 'gpt2', 'eos_token_id': number})
    assert open_tokenizer(path).end is None


def llama(path, **config):
    backend = words('<unk>', '<s>', '</s>', 'the', 'cat')
    backend.add_special_tokens(['<unk>', '<s>', '</s>'])
    if not config:
        backend.post_processor = processors.TemplateProcessing('<s> $A', '<s> $A $B', [('<s>', 1)])
    return folder(path, backend, tokenizer_config={'bos_token': '<s>', 'eos_token': '</s>', **config})


@pytest.mark.parametrize('config', [{}, {'add_bos_token': True}], ids=['post-processor', 'setting'])
def test_a_token_before_each_text_is_before_each_document_and_source(tmp_path, config):
    tokenizer = open_tokenizer(llama(tmp_path, **config))
    assert tokenizer.around == Around((1,), ())
    assert tokenizer.framed(tokenizer.encode('the cat')) == [1, 3, 4]
    documents = [TextDocument('0', 'the cat'), TextDocument('1', ''), TextDocument('2', 'cat')]
    bounds, _ = _write_stream(documents, tokenizer, tmp_path / 'tokens.npy')
    stream = np.load(tmp_path / 'tokens.npy').tolist()
    assert [stream[start:stop] for start, stop in bounds] == [[1, 3, 4, 2], [1, 4, 2]]
    assert PairFrame.of(tokenizer, 8, 8).read([3]) == [1, 3]


def test_a_run_keeps_the_roles(tmp_path):
    tokenizer = open_tokenizer(llama(tmp_path))
    (tmp_path / 'run').mkdir()
    tokenizer.save(tmp_path / 'run')
    assert sorted(file.name for file in (tmp_path / 'run').iterdir()) == ['tokenizer.json', 'tokenizer_config.json']
    for again in (open_tokenizer(tmp_path / 'run/tokenizer.json'), Tokenizer.load(tmp_path / 'run/tokenizer.json')):
        assert (again.roles, again.around, again.digest) == (tokenizer.roles, tokenizer.around, tokenizer.digest)
    both = Tokenizer(Byte().train([]).backend, tokenizer)
    both.save(tmp_path / 'run')
    assert Tokenizer.load(tmp_path / 'run/tokenizer.json').source.roles == tokenizer.roles


def test_padding_beyond_the_vocabulary_is_not_added(tmp_path):
    path = folder(tmp_path, words('<unk>', 'a'), tokenizer_config={'pad_token': '<pad>', 'mask_token': '<mask>'})
    tokenizer = open_tokenizer(path)
    assert (tokenizer.size, tokenizer.role('mask_token'), tokenizer.role('pad_token')) == (3, 2, None)


def test_a_file_that_is_no_configuration_is_named(tmp_path):
    path = folder(tmp_path, unigram())
    (tmp_path / 'tokenizer_config.json').write_text('[]')
    with pytest.raises(UserError, match=r'tokenizer_config\.json is not the configuration of a tokenizer'):
        open_tokenizer(path)
    assert UNKNOWN not in open_tokenizer(folder(tmp_path, unigram(), tokenizer_config={})).specials


@pytest.mark.parametrize(
    'setting', [{'separate_vocabs': True}, {'fix_mistral_regex': True}, {'wordpieces_prefix': '@@'}]
)
def test_a_setting_that_would_change_the_ids_is_refused(tmp_path, setting):
    with pytest.raises(UserError, match=f'{next(iter(setting))} is .*, which is not supported; only'):
        open_tokenizer(folder(tmp_path, unigram(), tokenizer_config=setting))


def test_a_key_that_is_not_known_is_named_in_a_warning(tmp_path, caplog):
    known = {
        'model_max_length': 512,
        'unk_token': '<unk>',
        'add_eos_token': False,
        'clean_up_tokenization_spaces': True,
    }
    open_tokenizer(folder(tmp_path, unigram(), tokenizer_config=known))
    assert not caplog.records
    open_tokenizer(folder(tmp_path, unigram(), tokenizer_config=known | {'dropout': 0.1, 'romanise': True}))
    assert [record.message for record in caplog.records] == [
        f'{tmp_path / "tokenizer_config.json"}: dropout, romanise: unknown, and ignored'
    ]


def test_spaces_before_punctuation_are_cleaned_up_in_decoded_texts(tmp_path):
    spelled, text = words('<unk>', 'the', '_cat', '_,', '_the', '_.'), 'the cat , the .'
    spelled.pre_tokenizer = pre_tokenizers.Metaspace('_', prepend_scheme='never', split=True)
    spelled.decoder = decoders.Metaspace('_', prepend_scheme='never')
    for setting, decoded in ((False, text), (True, 'the cat, the.')):
        tokenizer = open_tokenizer(
            folder(tmp_path, spelled, tokenizer_config={'clean_up_tokenization_spaces': setting})
        )
        assert tokenizer.decode(tokenizer.encode(text)) == decoded
        tokenizer.save(tmp_path)
        assert open_tokenizer(tmp_path / 'tokenizer.json').decode(tokenizer.encode(text)) == decoded
