# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Word pieces: cut as BERT cuts, against a plain loop; learned so that nothing that was seen is unknown."""

import argparse
from pathlib import Path

import pytest

from saccade.build import build
from saccade.data.tokenizer.file import TokenizerFile
from saccade.data.tokenizer.tokenizer import BERT, UNKNOWN
from saccade.data.tokenizer.word_piece import WordPiece
from saccade.types import UserError

TEXT = Path(argparse.__file__).read_text()


def _pieces(tokenizer):
    ranks = tokenizer.backend.get_vocab()
    return sorted(ranks, key=ranks.__getitem__)


def _longest_first(word, pieces):
    """The pieces of a word, the longest first, by trying each length."""
    cut, at = [], 0
    while at < len(word):
        sizes = (size for size in range(len(word) - at, 0, -1) if '##' * (at > 0) + word[at : at + size] in pieces)
        size = next(sizes, None)
        if size is None:
            return [UNKNOWN]
        cut.append('##' * (at > 0) + word[at : at + size])
        at += size
    return cut


def test_the_longest_piece_is_taken_first():
    tokenizer = WordPiece(300).train([TEXT])
    pieces = {*_pieces(tokenizer)}
    words = {word for word in TEXT.lower().split() if word.isalpha()} | {'zebra', 'parserparser', 'x' * 9}
    for word in words:
        assert [tokenizer.backend.id_to_token(number) for number in tokenizer.encode(word)] == (
            _longest_first(word, pieces)
        )


def test_it_is_the_tokenizer_of_its_vocabulary_in_a_file_of_bert(tmp_path):
    for lowercase in (True, False):
        tokenizer = WordPiece(300, lowercase=lowercase).train([TEXT])
        (tmp_path / 'vocab.txt').write_text('\n'.join(_pieces(tokenizer)) + '\n')
        assert TokenizerFile(str(tmp_path / 'vocab.txt'), lowercase).train([]).digest == tokenizer.digest


def test_characters_are_pieces_where_they_were_seen_then_come_the_merges():
    pieces = _pieces(WordPiece(13).train(['cab ab ab! b']))
    assert pieces == [*BERT, '!', 'a', 'b', 'c', '##a', '##b', '##ab', 'ab']


def test_special_tokens_have_the_ids_of_bert():
    tokenizer = build({'use': 'data.tokenizer.word_piece:WordPiece', 'vocabulary': 30})().train(['a b'])
    assert [*map(tokenizer.special, BERT)] == [0, 1, 2, 3, 4]
    assert tokenizer.end == tokenizer.special('[SEP]')


@pytest.mark.parametrize('lowercase', [True, False])
def test_only_white_space_and_case_are_lost(lowercase):
    text = TEXT + 'Größe\u0301 東京 🙂 \x00\n'
    tokenizer = WordPiece(500, lowercase=lowercase).train([text])
    assert tokenizer.special(UNKNOWN) not in tokenizer.encode(text)
    kept = tokenizer.backend.normalizer.normalize_str(text)
    assert ''.join(tokenizer.decode(tokenizer.encode(text)).split()) == ''.join(kept.split())
    assert ('Größe' in kept) != lowercase


def test_a_word_with_an_unknown_character_is_unknown_as_a_whole():
    tokenizer = WordPiece(30).train(['ab ab ba'])
    unknown = tokenizer.special(UNKNOWN)
    assert tokenizer.encode('ab abz ab') == [tokenizer.encode('ab')[0], unknown, tokenizer.encode('ab')[0]]


def test_frequent_words_are_one_piece():
    tokenizer = WordPiece(300).train([TEXT])
    assert [len(tokenizer.encode(word)) for word in ('the', 'Parser', 'argument')] == [1, 1, 1]


def test_text_that_the_normalizer_drops_is_no_text():
    with pytest.raises(UserError, match='no text'):
        WordPiece(30).train([' \n', '\x00\ufffd'])
