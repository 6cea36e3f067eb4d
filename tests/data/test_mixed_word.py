# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Words mixed with characters: frequent words whole, all others spelled, and nothing lost but white space."""

import argparse
from pathlib import Path

import numpy as np
import pytest

from saccade.data.tokenizer.file import open_tokenizer
from saccade.data.tokenizer.mixed_word import MixedWord
from saccade.data.tokenizer.tokenizer import END, UNKNOWN
from saccade.types import UserError

TEXT = 3 * 'the cat sat on a mat ' + 'the zebra I saw naïve 東京 e\u0301 🙂'
SINGLES = 41  # tokens of TEXT without words of several characters, [UNK] included
FRAGMENTS = [*'aeïbcrz東京🙂', 'the', 'cat', 'e\u0301', 'at', 'zebra']


def tokens(tokenizer, text):
    return [tokenizer.token(number) for number in tokenizer.encode(text)]


@pytest.fixture(scope='module')
def tokenizer():
    return MixedWord(SINGLES + 3).train([TEXT])


def test_characters_come_first_then_the_most_frequent_words():
    found = MixedWord(18).train(['ab ab ab ba ba c abc'])
    assert [found.token(number) for number in range(found.size)] == [
        END, UNKNOWN, '▁', 'a', 'b', 'c', '▁a', '▁b', 'a▁', 'b▁', 'c▁', '▁c▁', '▁ab▁', '▁ba▁', '▁abc▁'
    ]  # fmt: skip
    fewer = MixedWord(14).train(['ab ab ab ba ba c abc'])
    assert [fewer.token(number) for number in range(fewer.size)] == [found.token(number) for number in range(14)]


def test_a_frequent_word_is_one_token_and_any_other_is_spelled(tokenizer):
    assert tokens(tokenizer, 'the cat mat a at') == [
        '▁the▁', '▁cat▁', '▁m', 'a', 't▁', '▁a▁', '▁', 'a', 't▁'
    ]  # fmt: skip


def test_a_known_word_within_a_longer_one_is_spelled_with_it(tokenizer):
    for word in ('thecat', 'catthe', 'mcatm'):
        *inner, last = tokens(tokenizer, word)
        assert ''.join([*inner, last]) == f'▁{word}▁'
        assert all(len(each.strip('▁')) <= 1 for each in [*inner, last])


def test_words_of_known_characters_come_back_whatever_their_order(tokenizer):
    random = np.random.default_rng(0)
    for _ in range(300):
        words = [''.join(random.choice(FRAGMENTS, random.integers(1, 6))) for _ in range(random.integers(0, 6))]
        text = ' '.join(words)
        ids = tokenizer.encode(text)
        assert not tokenizer.unknown & {*ids}
        assert tokenizer.decode(ids) == text


def test_white_space_becomes_one_space_and_so_does_the_mark(tokenizer):
    for text in (' the \t cat\n\n', 'the\u00a0cat', 'the▁cat', '▁the▁▁cat ▁', 'the ▁ cat'):
        assert tokenizer.encode(text) == tokenizer.encode('the cat')
    for text in ('', ' ', '\n\t', '▁', '▁ ▁'):
        assert tokenizer.encode(text) == []
        assert tokenizer.decode([]) == ''


def test_only_a_character_that_was_not_seen_is_unknown(tokenizer):
    assert tokens(tokenizer, 'жat cжt cжж ж the') == [
        '▁', UNKNOWN, 'a', 't▁', '▁c', UNKNOWN, 't▁', '▁c', UNKNOWN, UNKNOWN, '▁', '▁', UNKNOWN, '▁', '▁the▁'
    ]  # fmt: skip
    assert tokenizer.decode(tokenizer.encode('жat cжt')) == '[UNK]at c[UNK]t'


def test_a_long_word_is_spelled_like_a_short_one(tokenizer):
    word = 20_000 * 'cat'
    assert tokens(tokenizer, f'the {word}') == ['▁the▁', '▁c', *word[1:-1], 't▁']
    assert tokenizer.decode(tokenizer.encode(word)) == word


@pytest.mark.parametrize(
    ('written', 'text'),
    [
        (['a', 't▁', '▁the▁'], 'at the'),
        (['▁c', 'a', '▁the▁'], 'ca the'),
        (['▁c', 'a'], 'ca'),
        (['t▁', 't▁', '▁c', '▁c'], 't t c c'),
        (['▁the▁', '▁', '▁', '▁cat▁'], 'the cat'),
        (['▁', END, '▁'], ''),
        ([], ''),
    ],
)
def test_ill_formed_words_of_a_model_are_separated_where_there_is_a_mark(tokenizer, written, text):
    assert tokenizer.decode([tokenizer.backend.token_to_id(token) for token in written]) == text


def test_every_token_can_be_written_alone(tokenizer):
    for number in range(tokenizer.size):
        written = '' if tokenizer.token(number) == END else tokenizer.token(number).strip('▁')
        assert tokenizer.decode([number]) == written


def test_a_word_begins_at_its_first_token(tokenizer):
    ((ids, beginning),) = tokenizer.words(['the mat жa cat'])
    assert [tokenizer.token(number) for number, first in zip(ids, beginning, strict=True) if first] == [
        '▁the▁', '▁m', '▁', '▁cat▁'
    ]  # fmt: skip


def test_the_place_of_a_token_has_its_characters(tokenizer):
    text = 'the mat naïve cat'
    ((ids, places),) = tokenizer.encode_places([text])
    for number, (start, stop) in zip(ids, places, strict=True):
        assert text[start:stop].strip() == tokenizer.token(number).strip('▁')


def test_its_file_opens_elsewhere_with_the_same_ids(tokenizer, tmp_path):
    tokenizer.save(tmp_path)
    opened = open_tokenizer(tmp_path / 'tokenizer.json')
    assert opened.digest == tokenizer.digest
    for text in (TEXT, 'жat  the▁cat', 3 * TEXT.replace(' ', '')):
        assert opened.encode(text) == tokenizer.encode(text)
        assert opened.decode(opened.encode(text)) == tokenizer.decode(tokenizer.encode(text))


def test_a_text_of_english_comes_back():
    text = ' '.join(Path(argparse.__file__).read_text().split())
    tokenizer = MixedWord(500).train([text])
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert len(text.split()) < len(ids) < len(text)


def test_a_special_token_with_the_mark_is_refused():
    with pytest.raises(UserError, match="specials: '▁the▁' might be a piece"):
        MixedWord(99, specials=('▁the▁',))


def test_a_word_spelled_like_a_special_token_is_a_word():
    tokenizer = MixedWord(99, specials=('the', 'PAD')).train(['the PAD'])
    assert tokens(tokenizer, 'the PAD') == ['▁the▁', '▁PAD▁']
    assert not {*tokenizer.specials.values()} & {*tokenizer.encode('the PAD')}
