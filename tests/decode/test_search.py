# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Search: the nearest texts equal brute force, and an index is kept, replaced and refused."""

import logging

import numpy as np
import pytest

from saccade.data.tokenizer.byte import Byte
from saccade.decode import search
from saccade.decode.embed import Embedder
from saccade.decode.search import Index, SearchCorpus, SentenceEncoder, labelled_pairs, open_index
from saccade.model.word_vectors import WordVectors
from saccade.ops.pool import mean
from saccade.types import UserError

SAME_NUMBERS = 1e-5


class Counting:
    """Encodes a text as how often it has each letter, and counts the texts that it has read."""

    def __init__(self):
        self.read = 0

    def encode(self, texts):
        self.read += len(texts)
        counts = np.array([[text.count(letter) for letter in 'abcde'] for text in texts], np.float32)
        return counts / np.maximum(np.linalg.norm(counts, axis=-1, keepdims=True), 1e-6)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Small blocks, so that few texts are several of them."""
    monkeypatch.setattr(search, '_BLOCK', 7)
    monkeypatch.setattr(search, '_GROUP', 2)


@pytest.fixture
def corpus(tmp_path):
    (tmp_path / 'corpus.txt').write_text('a\n\nb b\nc d\n  \nd d e\na b c d e\n')
    return SearchCorpus.read(tmp_path / 'corpus.txt')


def test_empty_lines_are_no_texts_and_the_others_keep_their_numbers(corpus):
    assert corpus.texts == ['a', 'b b', 'c d', 'd d e', 'a b c d e']
    assert corpus.lines == [1, 3, 4, 6, 7]


@pytest.mark.parametrize('count', [1, 3, 7, 40, 100])
def test_the_nearest_texts_are_those_of_brute_force(count):
    draw = np.random.default_rng(0)
    vectors, queries = (draw.integers(-3, 4, (number, 4)).astype(float) for number in (40, 5))  # many of which tie
    found = Index(vectors).nearest(queries, count)
    for query, each in zip(queries, found, strict=True):
        scores = vectors @ query
        order = sorted(range(40), key=lambda number: (-scores[number], number))[:count]
        assert [number for number, _ in each] == order
        np.testing.assert_allclose([score for _, score in each], scores[order], rtol=1e-9)


def test_an_index_is_made_once_and_mapped_into_memory(corpus, tmp_path):
    encoder = Counting()
    first = open_index(tmp_path / 'index', corpus, encoder.encode, 'one')
    again = open_index(tmp_path / 'index', corpus, encoder.encode, 'one')
    assert encoder.read == 5
    assert isinstance(again.vectors, np.memmap)
    np.testing.assert_array_equal(first.vectors, again.vectors)
    np.testing.assert_allclose(np.linalg.norm(again.vectors, axis=-1), 1.0, rtol=1e-6)
    ((best, *_),) = again.nearest(encoder.encode(['d']), 2)
    assert corpus.texts[best.number] == 'd d e'


@pytest.mark.parametrize(
    ('model', 'text', 'words'),
    [('two', 'a\nb\n', 'the corpus has changed since and is of another model'), ('one', 'a\nb\n', 'has changed since')],
)
def test_it_is_made_anew_and_said_where_the_corpus_or_the_model_is_another(
    corpus, tmp_path, caplog, model, text, words
):
    encoder = Counting()
    open_index(tmp_path / 'index', corpus, encoder.encode, 'one')
    corpus.path.write_text(text)
    with caplog.at_level(logging.WARNING):
        index = open_index(tmp_path / 'index', SearchCorpus.read(corpus.path), encoder.encode, model)
    assert words in caplog.text
    assert len(index.vectors) == 2


def test_a_damaged_index_is_made_anew_and_said(corpus, tmp_path, caplog):
    encoder = Counting()
    whole = np.array(open_index(tmp_path / 'index', corpus, encoder.encode, 'one').vectors)
    file = tmp_path / 'index' / 'vectors.npy'
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        index = open_index(tmp_path / 'index', corpus, encoder.encode, 'one')
    assert 'vectors.npy has changed since it was written; it is rebuilt' in caplog.text
    np.testing.assert_array_equal(index.vectors, whole)


def test_a_folder_of_something_else_is_refused_and_left_alone(corpus, tmp_path):
    (tmp_path / 'mine').mkdir()
    (tmp_path / 'mine' / 'letter.txt').write_text('Dear')
    with pytest.raises(UserError, match='is not an index'):
        open_index(tmp_path / 'mine', corpus, Counting().encode, 'one')
    assert (tmp_path / 'mine' / 'letter.txt').read_text() == 'Dear'


def test_a_users_file_in_an_index_stays_when_the_index_is_of_another_model(corpus, tmp_path):
    open_index(tmp_path / 'index', corpus, Counting().encode, 'one')
    (tmp_path / 'index' / 'letter.txt').write_text('Dear')
    with pytest.raises(UserError, match=r'is not an index \(it holds letter\.txt\)'):
        open_index(tmp_path / 'index', corpus, Counting().encode, 'two')
    assert (tmp_path / 'index' / 'letter.txt').read_text() == 'Dear'


def test_an_empty_corpus_is_refused(tmp_path):
    (tmp_path / 'empty.txt').write_text(' \n\n')
    with pytest.raises(UserError, match=r'empty\.txt: has no text to search'):
        SearchCorpus.read(tmp_path / 'empty.txt')


def test_right_texts_are_named_by_their_line_or_themselves(corpus, tmp_path):
    (tmp_path / 'pairs.tsv').write_text('first\t1\nsecond\tc d\n\nthird\t7\n')
    queries, right = labelled_pairs(tmp_path / 'pairs.tsv', corpus)
    assert queries == ['first', 'second', 'third']
    assert right == [[0], [2], [4]]


def test_all_lines_with_the_right_text_are_right(tmp_path):
    (tmp_path / 'corpus.txt').write_text('a b\nc\na b\n')
    (tmp_path / 'pairs.tsv').write_text('first\ta b\nsecond\t3\n')
    _, right = labelled_pairs(tmp_path / 'pairs.tsv', SearchCorpus.read(tmp_path / 'corpus.txt'))
    assert right == [[0, 2], [0, 2]]


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        ('a query\n', 'line 1: has no tab'),
        ('x\t1\ny\t2\n', r"line 2: '2' is no text and no line number"),
        ('\n', 'holds no pairs'),
    ],
)
def test_pairs_that_name_no_text_are_refused(corpus, tmp_path, text, words):
    (tmp_path / 'pairs.tsv').write_text(text)
    with pytest.raises(UserError, match=words):
        labelled_pairs(tmp_path / 'pairs.tsv', corpus)


TEXTS = ['the dog saw a cat', 'a cat', '', 'this cat sat on that dog and the dog saw it', 'a cat']


@pytest.fixture(scope='session')
def sentence_encoder(encoder, words):
    return SentenceEncoder(*encoder, words, rows=2)


@pytest.mark.long
def test_a_masked_language_model_gives_the_mean_of_its_last_layer(sentence_encoder, encoder, words):
    found = sentence_encoder.encode(TEXTS)
    np.testing.assert_allclose(np.linalg.norm(found, axis=-1), 1.0, rtol=SAME_NUMBERS)
    np.testing.assert_allclose(found[1], found[4], atol=SAME_NUMBERS)
    for number in (0, 1, 3):
        pooled = Embedder(*encoder, words).embed(TEXTS[number]).pooled(mean)
        np.testing.assert_allclose(found[number], pooled / np.linalg.norm(pooled), atol=SAME_NUMBERS)


@pytest.mark.long
def test_what_is_too_long_for_the_context_is_cut_off(sentence_encoder):
    long = ' '.join(['cat'] * sentence_encoder.room)
    whole, cut = sentence_encoder.encode([long, f'{long} dog saw dog'])
    np.testing.assert_allclose(whole, cut, atol=SAME_NUMBERS)


@pytest.mark.long
def test_a_decoder_gives_vectors_too(rotary):
    found = SentenceEncoder(*rotary, Byte().train([]), rows=2).encode(['a cat', 'a', 'a cat'])
    np.testing.assert_allclose(found[0], found[2], atol=SAME_NUMBERS)
    assert abs(found[0] @ found[1]) < 0.9999


def test_a_model_without_layers_is_refused():
    model = WordVectors(vocabulary=7, context_length=4, width=2)
    with pytest.raises(UserError, match='WordVectors computes no vector of a text; an encoder or a decoder is needed'):
        SentenceEncoder(model, {}, Byte().train([]))
