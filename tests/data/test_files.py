# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Files of users: the end of a line, encodings, numbers and leftovers; a file and a stream of its bytes agree."""

import gzip
import io
import math
import tracemalloc

import pytest

from saccade.data.corpus.files import content_of, decoded, is_leftover, lines_of, number_of
from saccade.types import UserError

NO_LINE_ENDS = 'a\x0bb\x0cc\x1cd\x1de\x1ef\x85g\u2028h\u2029i'
TEXTS = {
    'empty': ('', []),
    'one without an end': ('a', ['a']),
    'empty line': ('\n', ['']),
    'empty lines': ('a\n\nb\n\n', ['a', '', 'b', '']),
    'Windows': ('a\r\nb\r\n', ['a', 'b']),
    'Mac OS 9': ('a\rb\r', ['a', 'b']),
    'returns within lines': ('a\rb\nc\r\r\nd\r', ['a\rb', 'c\r', 'd\r']),
    'no line ends': (f'{NO_LINE_ENDS}\nb', [NO_LINE_ENDS, 'b']),
    'spaces at the end': ('a \t\nb\n', ['a \t', 'b']),
    'many languages': ('Grüße\n文字\nनमस्ते\n', ['Grüße', '文字', 'नमस्ते']),
}


@pytest.mark.parametrize('encoding', ['utf-8', 'utf-8-sig', 'utf-16'])
@pytest.mark.parametrize('name', TEXTS)
def test_lines_end_in_lf_or_crlf_in_a_file_and_in_a_stream(name, encoding):
    text, lines = TEXTS[name]
    content = text.encode(encoding)
    assert list(lines_of(io.BytesIO(content), 'a')) == lines
    whole = decoded(content, 'a')
    assert (whole.removesuffix('\n').split('\n') if whole else []) == lines


def test_a_line_of_a_stream_is_there_before_the_next_one_is_read():
    class Slow(io.BytesIO):
        read_lines = 0

        def readline(self, *_):
            self.read_lines += 1
            return super().readline()

        __next__ = readline

    stream = Slow(b'a\nb\nc\n')
    lines = lines_of(stream, 'a')
    for number, line in enumerate('abc', start=1):
        assert next(lines) == line
        assert stream.read_lines == number


@pytest.mark.parametrize(
    ('content', 'message'),
    [
        (b'ab\nc\xe9d\n', r'^a, line 2: byte 2 \(0xe9\) is not UTF-8, which is expected'),
        (b'\xff', r'^a, line 1: byte 1 \(0xff\) is not UTF-8'),
        (b'\xed\xa0\x80', r'^a, line 1: byte 1 \(0xed\) is not UTF-8'),  # half a character
        (b'ab\ncd\0\n', r'^a, line 2: byte 3 is zero: it looks binary'),
        ('ab'.encode('utf-16-le'), r'^a, line 1: byte 2 is zero'),  # no mark
        ('ab'.encode('utf-16')[:-1], r'^a: begins with the byte order mark of UTF-16, but byte 5 is not'),
        ('ab'.encode('utf-32'), r'^a: looks binary, or is UTF-32'),
    ],
)
def test_what_is_no_text_is_refused_by_its_place_in_a_file_and_in_a_stream(content, message):
    with pytest.raises(UserError, match=message):
        decoded(content, 'a')
    with pytest.raises(UserError, match=message):
        list(lines_of(io.BytesIO(content), 'a'))


@pytest.mark.parametrize(
    ('value', 'number'),
    [
        ('1', 1.0), (' -2.5 ', -2.5), ('+.5', 0.5), ('3.', 3.0), ('1e-3', 1e-3), ('2E+2', 200.0), (4, 4.0), (0.5, 0.5),
    ],
)  # fmt: skip
def test_a_number_is_decimal(value, number):
    assert number_of(value) == number


@pytest.mark.parametrize(
    'value',
    [
        '1_000', '1,5', '1,000', '', 'nan', 'inf', '-Infinity', '0x10', '1e', '.', '1 2', 'True', '٣', '\uff13', '²',
        '1e400', '1e39', '-1e39', 1e39, 10**400, -(10**400), math.nan, math.inf, True, False, None, [1],
    ],
)  # fmt: skip
def test_what_float32_does_not_hold_or_is_spelled_otherwise_is_no_number(value):
    assert number_of(value) is None


@pytest.mark.parametrize('name', ['a.txt', 'a~b', '#1.png', 'thumbs.png', 'macosx', '1#'])
def test_ordinary_names_are_no_leftovers(name):
    assert not is_leftover(name)


@pytest.mark.long
def test_gzip_is_bounded_while_it_is_unpacked(tmp_path):
    file = tmp_path / 'a.txt.gz'
    file.write_bytes(gzip.compress(b'a' * (1 << 27)))
    tracemalloc.start()
    try:
        with pytest.raises(
            UserError, match=r'a\.txt\.gz: \d+ bytes of gzip unpack to more than \d+, .*unpack it first'
        ):
            content_of(file)
        assert tracemalloc.get_traced_memory()[1] < 1 << 26
    finally:
        tracemalloc.stop()


def test_a_small_gzip_may_hold_one_line_many_times(tmp_path):
    text = b'a line\n' * 2_000_000
    (tmp_path / 'a.gz').write_bytes(gzip.compress(text))
    assert (tmp_path / 'a.gz').stat().st_size * 200 < len(text)
    assert content_of(tmp_path / 'a.gz') == text
