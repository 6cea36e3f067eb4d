# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Inputs of launchers: the same bytes give the same texts, whether --file names them or standard input brings them."""

import gzip
import io

import pytest

from saccade.decode.chat import typed_lines
from saccade.decode.inputs import placed_records
from saccade.decode.search import SearchCorpus
from saccade.decode.translator import texts_of
from saccade.types import UserError

CONTENTS = {
    'nothing': (b'', []),
    'no end': (b'a', ['a']),
    'empty lines': (b'\na\n\n', ['', 'a', '']),
    'Windows': (b'\xef\xbb\xbfa \r\nb\r\n', ['a ', 'b']),
    'Mac OS 9': (b'a\rb', ['a', 'b']),
    'a return': (b'a\rb\nc\r\n', ['a\rb', 'c']),
    'separators': ('a\u2028b\x85c\x0cd\x1ce\nf\n'.encode(), ['a\u2028b\x85c\x0cd\x1ce', 'f']),
    'UTF-16': ('naïve\r\n文\n'.encode('utf-16'), ['naïve', '文']),
}


class Data:
    """Data of some inputs a line."""

    def __init__(self, *inputs):
        self.inputs = {name: f'{name}_column' for name in inputs}
        self.example = dict.fromkeys(inputs, 'a')

    def read(self, path):
        raise NotImplementedError

    unanswered = read


@pytest.fixture
def given(tmp_path, monkeypatch):
    """Function that puts bytes into a file and into standard input, and returns the file's path."""

    def put(content):
        monkeypatch.setattr('sys.stdin', io.TextIOWrapper(io.BytesIO(content), encoding='ascii'))
        (tmp_path / 'a.txt').write_bytes(content)
        return str(tmp_path / 'a.txt')

    return put


@pytest.mark.parametrize('ending', ['.csv', '.json', '.txt'])
def test_a_name_that_no_file_can_have_is_refused(ending):
    with pytest.raises(UserError, match=rf'^x+{ending}: .*File name too long'):
        list(placed_records(Data('text'), {}, 300 * 'x' + ending))


@pytest.mark.parametrize('name', CONTENTS)
def test_a_file_and_standard_input_give_the_same_texts(given, name, tmp_path):
    content, texts = CONTENTS[name]
    file = given(content)
    assert list(texts_of(None, file)) == texts
    assert list(texts_of(None, None)) == texts
    (tmp_path / 'a.gz').write_bytes(gzip.compress(content))
    assert list(texts_of(None, str(tmp_path / 'a.gz'))) == texts
    given(content)
    records = [[record['text_column'] for _, record in placed_records(Data('text'), {}, at)] for at in (file, None)]
    assert records == [texts, texts]


def test_several_inputs_of_a_line_are_the_same_in_a_file_and_in_standard_input(given):
    file = given('a\u2028\tb\r\nc\td \n'.encode())
    expected = [{'text_column': 'a\u2028', 'pair_column': 'b'}, {'text_column': 'c', 'pair_column': 'd '}]
    for at in (file, None):
        assert [record for _, record in placed_records(Data('text', 'pair'), {}, at)] == expected


@pytest.mark.parametrize(
    ('content', 'message'), [(b'a\nb\xe9\n', r'line 2: byte 2 \(0xe9\)'), (b'a\0', 'line 1: byte 2 is')]
)
def test_bytes_that_are_no_text_are_refused_in_both(given, content, message):
    file = given(content)
    with pytest.raises(UserError, match=f'^{file}, {message}'):
        list(texts_of(None, file))
    with pytest.raises(UserError, match=f'^standard input, {message}'):
        list(texts_of(None, None))


def test_what_is_typed_ends_at_an_empty_line(given):
    given('a\u2028b\r\nc\x0c\n\nd\n'.encode())
    assert list(typed_lines()) == ['a\u2028b', 'c\x0c']


def test_the_lines_of_a_corpus_are_those_that_its_numbers_count(given, tmp_path):
    given('a\u2028b\rc\r\n\nd\n'.encode())
    corpus = SearchCorpus.read(tmp_path / 'a.txt')
    assert (corpus.texts, corpus.lines) == (['a\u2028b\rc', 'd'], [1, 3])
