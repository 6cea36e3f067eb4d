# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Tokenizers: lossless where they say so, ids as documented, files that are whole."""

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

from saccade.build import build
from saccade.data.tokenizer.bpe import BPE
from saccade.data.tokenizer.byte import Byte
from saccade.data.tokenizer.character import Character
from saccade.data.tokenizer.file import TokenizerFile, open_tokenizer
from saccade.data.tokenizer.foreign import one_line, opening
from saccade.data.tokenizer.mixed_word import MixedWord
from saccade.data.tokenizer.tokenizer import BERT, END, UNKNOWN, Tokenizer, backend_of
from saccade.data.tokenizer.unigram import Unigram
from saccade.data.tokenizer.word import Word
from saccade.data.tokenizer.word_piece import WordPiece
from saccade.types import UserError

TEXTS = [
    'def f(x):\n    return x  # naïve\n',
    'The cat sat on the mat. The cat sat.\r\n\ttabs',
    'Größe 東京 🙂 \x00 e\u0301',
    '<|end|> spelled out, and [UNK] too',
]
LOSSLESS = [
    Byte(),
    Byte(end=None),
    Character(),
    Character(end=None),
    BPE(vocabulary=300),
    BPE(400, end=None),
    *(part(specials=BERT) for part in (Byte, Character)),
    BPE(vocabulary=300, specials=BERT),
    Unigram(vocabulary=90),
    Unigram(vocabulary=90, end=None, specials=BERT),
]
PARTS = [
    *LOSSLESS,
    Word(vocabulary=9),
    Word(vocabulary=12, specials=BERT),
    WordPiece(vocabulary=120),
    WordPiece(120, lowercase=False, end=END, specials=()),
    MixedWord(vocabulary=120),
    MixedWord(vocabulary=120, specials=BERT),
]


@pytest.mark.parametrize('part', LOSSLESS, ids=str)
def test_round_trip_is_lossless(part):
    tokenizer = part.train(TEXTS)
    for text in [*TEXTS, '', ' ', '\n\n  ']:
        assert tokenizer.decode(tokenizer.encode(text)) == text


@pytest.mark.parametrize('part', [Byte(), BPE(vocabulary=300)], ids=str)
def test_bytes_know_every_text(part):
    tokenizer = part.train(['abc'])
    text = 'ǅ ༀ \U0001d518 \u202e'
    assert tokenizer.decode(tokenizer.encode(text)) == text


@pytest.mark.parametrize('part', PARTS, ids=str)
def test_ids_stay_below_size_and_text_never_gives_the_end(part):
    tokenizer = part.train(TEXTS)
    ids = np.concatenate(tokenizer.encode_batch([*TEXTS[:3], '<|end|>,']))
    assert 0 <= ids.min() <= ids.max() < tokenizer.size
    assert tokenizer.end is None or tokenizer.end not in ids


def test_byte_ids_are_the_bytes():
    text = ''.join(map(chr, range(256))) + '🙂'
    assert Byte(end=None).train([]).encode(text) == list(text.encode())
    assert Byte().train([]).encode(text) == [byte + 1 for byte in text.encode()]
    assert (Byte(end=None).train([]).size, Byte().train([]).size) == (256, 257)


def test_character_ids_follow_code_points():
    tokenizer = Character(end=None).train(['hello\n', 'A!é'])
    assert [tokenizer.decode([number]) for number in range(tokenizer.size)] == sorted('helo\nA!é')
    assert tokenizer.end is None


def test_unknown_character_is_named():
    with pytest.raises(UserError, match=r"'é' \(U\+00E9\)"):
        Character().train(['cafe']).encode('café')


def test_an_unknown_character_is_the_unknown_token_where_there_is_one():
    tokenizer = Character(specials=BERT).train(['abc'])
    assert tokenizer.encode('azb') == [tokenizer.encode('a')[0], tokenizer.special(UNKNOWN), tokenizer.encode('b')[0]]


def test_half_a_surrogate_pair_is_named():
    with pytest.raises(UserError, match=r'U\+D800'):
        Byte().train([]).encode('a \ud800')


def test_words():
    tokenizer = Word(vocabulary=4).train(['b a  a\n', 'c a b'])
    assert [tokenizer.decode([number]) for number in range(4)] == ['', '[UNK]', 'a', 'b']
    assert tokenizer.decode(tokenizer.encode(' a\n\tb  a ')) == 'a b a'
    assert tokenizer.decode(tokenizer.encode('a zebra')) == 'a [UNK]'
    assert Word(vocabulary=9).train(['[UNK] a']).size == 3


@pytest.mark.parametrize('trainer', [
    Word(vocabulary=9), Character(specials=(UNKNOWN,)), MixedWord(vocabulary=30), WordPiece(vocabulary=40)
])  # fmt: skip
def test_words_in_place_of_unknown_tokens_are_spaced_as_these_were(trainer):
    tokenizer = trainer.train(['ab cd ab a b c d'])
    ids = [token for token in tokenizer.encode('ab 中 cd é') if token != tokenizer.end]
    assert sum(token in tokenizer.unknown for token in ids) == 2
    assert tokenizer.decode_replacing(ids, ['x1', 'x2']) == 'ab x1 cd x2'
    assert tokenizer.decode_replacing([tokenizer.end, *ids[:1]], []) == tokenizer.decode(ids[:1])


def test_a_special_token_that_is_not_there_is_refused_with_those_that_are():
    with pytest.raises(UserError, match=r"no special token '\[MASK\]'; it has <\|end\|>"):
        Byte().train([]).special('[MASK]')
    with pytest.raises(UserError, match='it has no special tokens'):
        Byte(end=None).train([]).special('[MASK]')


@pytest.mark.parametrize('specials', [('[SEP]', '[SEP]'), (END,), ('',)])
def test_special_tokens_that_cannot_be_told_apart_are_refused(specials):
    with pytest.raises(UserError, match='specials'):
        Byte(specials=specials)


@pytest.mark.parametrize(
    'make',
    [
        *(Byte, Character, partial(BPE, 300), partial(Word, 12), partial(WordPiece, 120), partial(Unigram, 90)),
        partial(MixedWord, 120),
    ],
)
def test_special_tokens_have_the_first_ids_in_the_order_given(make):
    after_the_end, alone = (make(end=end, specials=BERT).train(TEXTS) for end in (END, None))
    assert [after_the_end.end, *map(after_the_end.special, BERT)] == [0, 1, 2, 3, 4, 5]
    assert [alone.end, *map(alone.special, BERT)] == [3, 0, 1, 2, 3, 4]


def test_bpe_merges_up_to_its_vocabulary():
    tokenizer = BPE(vocabulary=265).train(['the cat and the hat'] * 5)
    assert tokenizer.size == 265
    assert len(tokenizer.encode('the')) < 3


def test_training_twice_gives_the_same_tokenizer():
    parts = BPE(330), Word(12), WordPiece(120), Unigram(90), MixedWord(120)
    for part in parts:
        assert len({part.train(TEXTS * 3).digest for _ in range(5)}) == 1


@pytest.mark.parametrize('part', [*PARTS, Word(vocabulary=9, end='</s>')], ids=str)
def test_saved_tokenizer_is_the_same(part, tmp_path):
    tokenizer = part.train(TEXTS)
    tokenizer.save(tmp_path)
    again = Tokenizer.load(tmp_path / 'tokenizer.json')
    assert again.encode_batch(TEXTS) == tokenizer.encode_batch(TEXTS)
    assert (again.size, again.end, again.digest) == (tokenizer.size, tokenizer.end, tokenizer.digest)
    assert {name: again.special(name) for name in part.reserved} == {name: n for n, name in enumerate(part.reserved)}
    assert again.end == (0 if part.end else 3 if '[SEP]' in part.specials else None)
    assert [path.name for path in tmp_path.iterdir()] == ['tokenizer.json']


def test_loaded_alphabet_still_refuses_the_unknown(tmp_path):
    Character(end=None).train(['abc']).save(tmp_path)
    with pytest.raises(UserError, match="'z'"):
        Tokenizer.load(tmp_path / 'tokenizer.json').encode('abz')


def _foreign(path, specials):
    """A tokenizer.json as others publish them: with truncation, padding and a post-processor."""
    symbols = [*sorted(pre_tokenizers.ByteLevel.alphabet()), *specials]
    backend = tokenizers.Tokenizer(models.BPE({symbol: number for number, symbol in enumerate(symbols)}, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens(specials)
    first = specials[0]
    backend.post_processor = processors.TemplateProcessing(
        single=f'{first} $A', special_tokens=[(first, backend.token_to_id(first))]
    )
    backend.enable_truncation(5)
    backend.enable_padding(length=9)
    backend.save(str(path))


@pytest.mark.parametrize(
    ('specials', 'end'),
    [(['<|endoftext|>'], 256), (['<s>', '</s>'], 257), (['<|end|>', '<|endoftext|>'], 257)],
)
def test_hugging_face_file(tmp_path, specials, end):
    _foreign(tmp_path / 'tokenizer.json', specials)
    tokenizer = Tokenizer.load(tmp_path / 'tokenizer.json')
    assert tokenizer.end == end
    assert len(tokenizer.encode('longer than five')) == 16
    assert tokenizer.encode_batch(['a', 'bc'])[0] == tokenizer.encode('a')


VOCABULARY = ['[PAD]', '[unused0]', UNKNOWN, '[CLS]', '[SEP]', '[MASK]', 'the', 'play', '##ing', '##s', '.', 'The']


@pytest.mark.parametrize(('lowercase', 'ids'), [(True, [6, 7, 8, 10]), (False, [11, 7, 8, 10])])
def test_the_vocabulary_of_a_bert_is_taken_as_it_is(tmp_path, lowercase, ids):
    (tmp_path / 'vocab.txt').write_text('\n'.join(VOCABULARY) + '\n')
    tokenizer = TokenizerFile(str(tmp_path / 'vocab.txt'), lowercase).train(TEXTS)
    assert tokenizer.encode('The playing.') == ids
    assert [tokenizer.special(name) for name in BERT] == [0, 2, 3, 4, 5]
    assert (tokenizer.size, tokenizer.end) == (12, 4)
    assert tokenizer.encode('xyz [MASK]')[0] == 2
    assert 5 not in tokenizer.encode('xyz [MASK]')


def test_a_tokenizer_json_is_taken_as_it_is(tmp_path):
    _foreign(tmp_path / 'tokenizer.json', ['<s>', '</s>'])
    part = TokenizerFile(str(tmp_path / 'tokenizer.json'))
    assert part.train(TEXTS).digest == Tokenizer.load(tmp_path / 'tokenizer.json').digest
    before = part.digest
    _foreign(tmp_path / 'tokenizer.json', ['<s>', '</s>', '<pad>'])
    assert part.digest != before


def test_a_file_that_is_no_tokenizer_is_named(tmp_path):
    (tmp_path / 'vocab.txt').write_text('the\ncat\n')
    with pytest.raises(UserError, match=r'vocab\.txt is not the vocabulary of a BERT'):
        TokenizerFile(str(tmp_path / 'vocab.txt')).train([])
    for ask in (lambda part: part.train([]), lambda part: part.digest):
        with pytest.raises(UserError, match=r'missing\.txt'):
            ask(TokenizerFile(str(tmp_path / 'missing.txt')))


def test_size_covers_the_largest_id():
    backend = tokenizers.Tokenizer(models.WordLevel({'a': 0, 'b': 7}, unk_token='a'))
    assert Tokenizer(backend).size == 8


def test_bad_files_are_named(tmp_path):
    with pytest.raises(UserError, match=r'missing\.json'):
        Tokenizer.load(tmp_path / 'missing.json')
    (tmp_path / 'config.json').write_text('{"width": 3}')
    with pytest.raises(UserError, match=r'config\.json is not a tokenizer\.json'):
        Tokenizer.load(tmp_path / 'config.json')


def pair() -> tokenizers.Tokenizer:
    """A tokenizer with one merge."""
    return tokenizers.Tokenizer(models.BPE({'a': 0, 'b': 1, 'ab': 2}, [('a', 'b')]))


def write_changed(file: Path, **changes: Any) -> None:
    """Write a tokenizer.json with other parts, and with other settings of its model."""
    found = json.loads(pair().to_str())
    found['model'] |= changes.pop('model', {})
    file.write_text(json.dumps(found | changes))


def replacing(pattern: str, content: str) -> dict[str, Any]:
    return {'type': 'Replace', 'pattern': {'String': pattern}, 'content': content}


PANICS = {
    'prefix longer than a piece': {'model': {'continuing_subword_prefix': '#####'}},
    'map of characters that is none': {'normalizer': {'type': 'Precompiled', 'precompiled_charsmap': 'AAAA'}},
    'template of a token that is not there': {
        'post_processor': {
            'type': 'TemplateProcessing',
            'single': [{'SpecialToken': {'id': '[X]', 'type_id': 0}}, {'Sequence': {'id': 'A', 'type_id': 0}}],
            'pair': [{'Sequence': {'id': 'A', 'type_id': 0}}, {'Sequence': {'id': 'B', 'type_id': 0}}],
            'special_tokens': {},
        }
    },
    'decoder that strips more than there is': {'decoder': {'type': 'Strip', 'content': 'a', 'start': 2, 'stop': 2}},
}


@pytest.mark.parametrize('name', PANICS)
@pytest.mark.parametrize('read', [open_tokenizer, Tokenizer.load])
def test_a_panic_of_the_library_is_one_line_and_prints_nothing(tmp_path, capfd, name, read):
    file = tmp_path / 'tokenizer.json'
    write_changed(file, **PANICS[name])
    with pytest.raises(UserError, match=rf'^{file}: the tokenizers library fails on this tokenizer: [^\n]+$'):
        read(file)
    assert capfd.readouterr().err == ''


@pytest.mark.long
def test_a_panic_while_encoding_is_one_line(tmp_path):
    file = tmp_path / 'tokenizer.json'
    regex = {'type': 'Split', 'pattern': {'Regex': '(a+)+$'}, 'behavior': 'Isolated', 'invert': False}
    write_changed(file, pre_tokenizer=regex)
    tokenizer = open_tokenizer(file)
    assert tokenizer.encode('ab') == [2]
    for encode in (tokenizer.encode_batch, tokenizer.words, tokenizer.encode_places):
        with pytest.raises(UserError, match=f'^{file}: the tokenizers library fails on this tokenizer: .*retry-limit'):
            encode([40 * 'a' + 'b'])


def test_opening_keeps_what_others_write_to_standard_error_and_what_ends_a_program(tmp_path, capfd):
    with opening(tmp_path):
        os.write(2, b'a warning\n')
    with pytest.raises(UserError, match=r'missing\.json'), opening(tmp_path):
        backend_of(tmp_path / 'missing.json')
    assert capfd.readouterr().err == 'a warning\n'
    for end in (KeyboardInterrupt, SystemExit):
        with pytest.raises(end), one_line(tmp_path):
            raise end


@pytest.mark.parametrize(
    ('changes', 'words'),
    [
        ({'normalizer': replacing('a', 100_000 * 'b')}, 'normalizer may make a text 100,000 times as long'),
        ({'decoder': replacing('a', 100_000 * 'b')}, 'decoder may make a text 100,000 times as long'),
        ({'normalizer': {'type': 'Prepend', 'prepend': 9 * 'b'}}, 'normalizer may make a text 9 times as long'),
        (
            {'normalizer': {'type': 'Sequence', 'normalizers': [replacing('a', 'bbb'), replacing('b', 'aaa')]}},
            'normalizer may make a text 9 times as long',
        ),
    ],
)
def test_a_tokenizer_that_expands_texts_is_refused_when_it_is_opened(tmp_path, changes, words):
    file = tmp_path / 'tokenizer.json'
    write_changed(file, **changes)
    with pytest.raises(UserError, match=f'^{file}: its {words}; at most 8 times is supported$'):
        open_tokenizer(file)


@pytest.mark.parametrize('name', ['tokenizer.json', 'vocab.json'])
@pytest.mark.timeout(60)
def test_ids_beyond_any_vocabulary_are_refused_when_a_tokenizer_is_opened(tmp_path, name):
    vocab = {'a': 0, 'b': 2**32 - 1}
    backend = tokenizers.Tokenizer(models.WordLevel({'a': 0}, 'a'))
    content = json.loads(backend.to_str())
    content['model']['vocab'] = vocab
    (tmp_path / 'tokenizer.json').write_text(json.dumps(content))
    (tmp_path / 'vocab.json').write_text(json.dumps(vocab))
    (tmp_path / 'merges.txt').write_text('#version: 0.2')
    (tmp_path / 'tokenizer_config.json').write_text('{"tokenizer_class": "GPT2Tokenizer"}')
    with pytest.raises(UserError, match=r"the id of 'b' is 4,294,967,295; ids below 16,777,216 are supported$"):
        open_tokenizer(tmp_path / name)


def test_replacements_that_published_tokenizers_have_are_taken(tmp_path):
    file = tmp_path / 'tokenizer.json'
    spaces = [{'type': 'Prepend', 'prepend': '\u2581'}, replacing(' ', '\u2581'), replacing('``', '"')]
    write_changed(file, normalizer={'type': 'Sequence', 'normalizers': spaces})
    assert open_tokenizer(file).encode('ab') == [2]


def test_more_than_8_tokens_a_byte_are_refused():
    backend = pair()
    backend.normalizer = normalizers.Replace('a', 100_000 * 'b')
    with pytest.raises(
        UserError, match=r'^the tokenizer: makes 100000 tokens of 1 bytes; at most 8 a byte are allowed'
    ):
        Tokenizer(backend).encode('a')
    backend.normalizer = normalizers.Replace('a', 8 * 'b')
    assert Tokenizer(backend).encode(10_000 * 'a') == 80_000 * [1]


def test_save_that_fails_leaves_nothing(tmp_path):
    (tmp_path / 'tokenizer.json').mkdir()
    with pytest.raises(UserError, match='cannot write the tokenizer'):
        Byte().train([]).save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ['tokenizer.json']


@pytest.mark.parametrize(
    'make',
    [
        *(lambda: BPE(256), lambda: BPE(255, end=None), lambda: Word(2), lambda: WordPiece(5), lambda: Unigram(2)),
        lambda: MixedWord(2),
    ],
)
def test_vocabulary_too_small(make):
    with pytest.raises(UserError, match='too few'):
        make()


def test_unrecognisable_end_is_refused():
    with pytest.raises(UserError, match='<STOP>'):
        Byte(end='<STOP>')


@pytest.mark.parametrize('part', [Character(), Word(vocabulary=9), WordPiece(9), Unigram(9), MixedWord(9)], ids=str)
def test_no_text_to_train_on(part):
    with pytest.raises(UserError, match='no text'):
        part.train(['', ''])


def test_parts_build_from_specs():
    tokenizer = build({'use': 'data.tokenizer.bpe:BPE', 'vocabulary': 300})().train(TEXTS)
    assert tokenizer.backend.id_to_token(0) == END
