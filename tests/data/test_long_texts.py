# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Long documents: read and tokenised in parts, with the tokens and the sentences of the whole text."""

import gzip
import random
import textwrap
from types import SimpleNamespace

import numpy as np
import pytest

from saccade.build import build
from saccade.data.corpus import document, pydocs, text_file
from saccade.data.corpus.document import TextDocument, parts_of
from saccade.data.corpus.files import decoded
from saccade.data.corpus.text_file import TextFile
from saccade.data.encoder import passages
from saccade.data.tokenizer.bpe import BPE
from saccade.data.tokenizer.tokenizer import BERT, Tokenizer
from saccade.progress import listening
from saccade.types import UserError


@pytest.fixture
def short(monkeypatch):
    """Return a function that sets the length of a part."""

    def set_length(length):
        for module in (document, text_file, passages):
            monkeypatch.setattr(module, 'PART', length)

    return set_length


def prose(paragraphs=60):
    """Paragraphs of wrapped lines, some indented, with empty lines between them."""
    draw = random.Random(0)
    words = ['the', 'naïve', 'cat,', '漢字', 'saw', '12', 'dogs.', '"Why?"', 'def', 'f(x):']
    texts = (' '.join(draw.choices(words, k=draw.randrange(5, 60))) for _ in range(paragraphs))
    return '\n\n'.join(textwrap.fill(text, 50, subsequent_indent=draw.choice(['', '  '])) for text in texts) + '\n'


@pytest.mark.parametrize('length', [7, 100, 1000, 10**6])
def test_parts_of_a_document_are_its_text(short, length):
    short(length)
    text = prose()
    parts = list(parts_of([TextDocument('a', text), TextDocument('b', '')]))
    assert ''.join(part.text for part in parts) == text
    assert max(len(part.text) for part in parts) <= length
    assert [part.id for part in parts if part.last] == ['a', 'b']


def test_parts_have_the_tokens_of_the_whole(short):
    text = '\n'.join(each.text for each in [*pydocs.topics()][:40]) + prose()
    tokenizer = BPE(vocabulary=600).train([text])
    short(2000)
    parts = [part.text for part in parts_of([TextDocument('a', text)])]
    assert len(parts) > 50
    assert [token for ids in tokenizer.encode_batch(parts) for token in ids] == tokenizer.encode(text)


ENCODED = {
    'utf-8': lambda text: text.encode(),
    'byte order mark': lambda text: text.encode('utf-8-sig'),
    'utf-16': lambda text: text.encode('utf-16'),
    'utf-16-be': lambda text: b'\xfe\xff' + text.encode('utf-16-be'),
    'crlf': lambda text: text.replace('\n', '\r\n').encode(),
    'mac': lambda text: text.replace('\n', '\r').encode(),
    'some cr': lambda text: text.replace('12', '\r').encode(),
    'one line': lambda text: text.replace('\n', ' ').encode(),
    'no space': lambda text: ''.join(text.split()).encode(),
}


@pytest.mark.parametrize('length', [16, 333, 4096, 10**6])
@pytest.mark.parametrize('encoding', ENCODED)
def test_a_file_in_parts_is_its_text(tmp_path, short, encoding, length):
    short(length)
    content = ENCODED[encoding](prose() + '\U0001f600' * 50)
    (tmp_path / 'a.txt').write_bytes(content)
    (tmp_path / 'a.txt.gz').write_bytes(gzip.compress(content))
    text = decoded(content, 'a.txt')
    for name in ('a.txt', 'a.txt.gz'):
        file = TextFile.scan(tmp_path / name)
        assert file.length == len(text)
        assert ''.join(file.parts(0, len(text))) == text
        for start, stop in ((0, 1), (1, 400), (len(text) // 2, len(text)), (len(text) - 1, len(text))):
            assert ''.join(file.parts(start, stop)) == text[start:stop]
    assert len(file.spans) >= len(content) // (2 * length)


def test_a_file_as_long_as_its_parts(tmp_path, short):
    short(8)
    for length in (7, 8, 9, 16, 24):
        (tmp_path / 'a.txt').write_text('abc def ' * 3)
        (tmp_path / 'a.txt').write_text(('abc def ' * 3)[:length])
        assert ''.join(TextFile.scan(tmp_path / 'a.txt').parts(0, length)) == ('abc def ' * 3)[:length]


def test_a_wrong_byte_far_into_a_file_is_named_by_its_line(tmp_path, short):
    short(64)
    (tmp_path / 'a.txt').write_bytes(b'a line\n' * 1000 + b'not \xff fine\n')
    with pytest.raises(UserError, match=r'a\.txt, line 1001: byte 5 \(0xff\) is not UTF-8'):
        TextFile.scan(tmp_path / 'a.txt')


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, short):
    short(64)
    (tmp_path / 'a.txt').write_text('a line\n' * 100)
    parts = TextFile.scan(tmp_path / 'a.txt').parts(0, 700)
    next(parts)
    (tmp_path / 'a.txt').write_text('a word\n' * 100)
    with pytest.raises(UserError, match=r'a\.txt: changed while it was being read; run again'):
        list(parts)


def test_reading_a_large_file_shows_its_progress(tmp_path, monkeypatch):
    monkeypatch.setattr(text_file, '_LARGE', 0)
    (tmp_path / 'a.txt').write_text('a line\n' * 500_000)
    told = []

    def begin(name, total, unit):
        return SimpleNamespace(tell=lambda done: told.append((name, done, total, unit)), end=lambda: None)

    file = TextFile.scan(tmp_path / 'a.txt')
    with listening(begin):
        list(file.parts(0, file.length))
    assert told[0] == ('reading a.txt', 0, 3, 'MiB')
    assert told[-1] == ('reading a.txt', 3, 3, 'MiB')


def stream(path, cache, **changes):
    spec = {
        'use': 'data.text.stream:TextData',
        'path': str(path),
        'context_length': 16,
        'tokenizer': {'use': 'data.tokenizer.bpe:BPE', 'vocabulary': 400},
        'pack': {'use': 'data.rows.pack:Packed'},
    }
    return build({**spec, **changes})().prepare(cache)


def masked(path, cache, **changes):
    spec = {
        'use': 'data.encoder.passages:Passages',
        'path': str(path),
        'context_length': 32,
        'tokenizer': {'use': 'data.tokenizer.word_piece:WordPiece', 'vocabulary': 300, 'end': None, 'specials': BERT},
        'pairing': {'use': 'data.encoder.pairing:NextSentence'},
        'divide': '\n\n',
    }
    return build({**spec, **changes})().prepare(cache)


@pytest.mark.parametrize('prepare', [stream, masked])
def test_a_long_text_is_prepared_like_a_short_one(tmp_path, short, monkeypatch, prepare):
    (tmp_path / 'a.txt').write_text(prose(600))
    whole = prepare(tmp_path / 'a.txt', tmp_path / 'whole')
    longest, encode = [0], Tokenizer._encodings

    def watched(self, texts, method):
        longest[0] = max(longest[0], *map(len, texts), 0)
        return encode(self, texts, method)

    monkeypatch.setattr(Tokenizer, '_encodings', watched)
    short(1000)
    parts = prepare(tmp_path / 'a.txt', tmp_path / 'parts')
    assert longest[0] <= 1000
    assert parts.processor.digest == whole.processor.digest
    for name, split in whole.splits.items():
        rows = parts.splits[name].rows
        assert len(rows) == len(split.rows)
        for number in range(len(rows)):
            for key, found in rows[number].items():
                assert np.array_equal(found, split.rows[number][key])


def test_a_text_without_sentences_is_prepared_in_parts(tmp_path, short):
    short(500)
    (tmp_path / 'a.txt').write_text('word ' * 4000)
    found = masked(tmp_path / 'a.txt', tmp_path / 'cache', pairing={'use': 'data.encoder.pairing:OnePassage'})
    assert len(found.splits['train'].rows.tokens) == 3600
