# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sentences with a tag for each word: which piece has it, in which window, and what is refused."""

import itertools

import numpy as np
import pytest

from saccade.build import build
from saccade.data.encoder.tagged import aligned
from saccade.data.pipeline import eval_batches
from saccade.data.tokenizer.tokenizer import BERT
from saccade.types import IGNORED, Data, UserError

SPECIALS = {'end': None, 'specials': list(BERT)}
TOKENIZERS = {
    'word': {'use': 'data.tokenizer.word:Word', 'vocabulary': 60, **SPECIALS},
    'piece': {'use': 'data.tokenizer.word_piece:WordPiece', 'vocabulary': 60},
    'bytes': {'use': 'data.tokenizer.byte:Byte', **SPECIALS},
    'bpe': {'use': 'data.tokenizer.bpe:BPE', 'vocabulary': 280, **SPECIALS},
    'character': {'use': 'data.tokenizer.character:Character', **SPECIALS},
}
EACH = pytest.mark.parametrize('tokenizer', list(TOKENIZERS))
CHECK = {'use': 'metric.entity:require_bio'}
WORDS = ('Köln', 'rejects', "n't", 'a', 'Württemberg', '漢字', '.')
TAGS = ('B-PLACE', 'O', 'O', 'O', 'B-PLACE', 'I-PLACE', 'O')
NAMES = ('B-PLACE', 'I-PLACE', 'O')
SENTENCES = {
    'train': [(WORDS, TAGS), (WORDS[1:4] * 9, TAGS[1:4] * 9)],
    'dev': [(WORDS * 8, TAGS * 8), (('a',), ('O',))],
}


def write(folder, **splits):
    for split, sentences in (SENTENCES | splits).items():
        blocks = ('\n'.join(f'{word}\t{tag}' for word, tag in zip(*pair, strict=True)) for pair in sentences)
        (folder / f'{split}.conll').write_text('\n\n'.join(blocks) + '\n')
    return folder


def part(folder, tokenizer='piece', **changes):
    own = {'use': 'data.encoder.tagged:Tagged', 'context_length': 64, 'classes': 3, 'path': str(folder), 'check': CHECK}
    return build(own | {'tokenizer': TOKENIZERS[tokenizer]} | changes)()


def prepared(tmp_path, tokenizer='piece', **changes):
    return part(write(tmp_path), tokenizer, **changes).prepare(tmp_path / 'cache')


def trained(tokenizer, texts):
    return build(TOKENIZERS[tokenizer])().train(texts)


@EACH
def test_the_first_piece_of_a_word_has_its_tag(tmp_path, tokenizer):
    data = prepared(tmp_path, tokenizer)
    row = data.splits['train'].rows[0]
    has_tag = np.flatnonzero(row['labels'] != IGNORED)
    assert [NAMES[label] for label in row['labels'][has_tag]] == list(TAGS)
    last = np.count_nonzero(row['segments']) - 1
    bounds = [*has_tag.tolist(), last]
    pieces = [row['tokens'][start:stop] for start, stop in itertools.pairwise(bounds)]
    assert has_tag[0] == 1  # after [CLS]
    if tokenizer not in ('word', 'piece'):  # which may not know a word, or lose its case
        assert [data.processor.decode(piece).strip() for piece in pieces] == list(WORDS)
    assert tokenizer == 'word' or max(map(len, pieces)) > 1


@EACH
@pytest.mark.parametrize(('context_length', 'overlap'), [(12, 0), (12, 3), (12, 8), (40, 20), (400, 5)])
def test_each_word_has_its_tag_in_one_window(tmp_path, tokenizer, context_length, overlap):
    data = prepared(tmp_path, tokenizer, context_length=context_length, overlap=overlap)
    split, found = data.splits['validation'], {0: [], 1: []}
    for number in range(len(split.rows)):
        row = split.rows[number]
        found[int(row['example'])] += [NAMES[label] for label in row['labels'] if label != IGNORED]
    assert [tuple(tags) for tags in found.values()] == [tags for _, tags in SENTENCES['dev']]
    assert [tuple(NAMES[tag] for tag in tags) for tags in split.sentences()] == list(map(tuple, found.values()))
    assert (split.targets, split.unit, split.names) == (57, 'words', NAMES)


def test_a_word_has_its_tag_where_it_is_further_from_a_cut(tmp_path):
    rows = prepared(tmp_path, 'word', context_length=12, overlap=4).splits['validation'].rows
    own = [np.flatnonzero(rows[number]['labels'] != IGNORED) - 1 for number in range(len(rows) - 1)]
    # Windows of 10 of the 56 words, which begin every 6.
    assert own[0].tolist() == list(range(8))
    assert all(places.tolist() == list(range(2, 8)) for places in own[1:-1])
    assert own[-1].tolist() == list(range(2, 56 - 6 * (len(own) - 1)))


@EACH
def test_windows_hold_every_piece(tmp_path, tokenizer):
    data = prepared(tmp_path, tokenizer, context_length=12, overlap=4)
    rows, text = data.splits['validation'].rows, []
    for number in range(len(rows) - 1):
        pieces = rows[number]['tokens'][rows[number]['segments'] > 0][1:-1].tolist()
        assert text[len(text) - 4 :] == (pieces[:4] if text else [])
        text += pieces[4:] if text else pieces
    assert text == data.processor.encode(' '.join(WORDS * 8))


def test_a_word_of_which_nothing_is_left_is_unknown():
    tokenizer = trained('piece', ['a b c'])
    ((pieces, words),) = aligned([['\0', 'a', '\u200b', 'b', '']], tokenizer)
    unknown = tokenizer.special('[UNK]')
    a, b = tokenizer.encode('a b')
    assert pieces.tolist() == [unknown, a, unknown, b, unknown]
    assert words.tolist() == [0, 1, 2, 3, 4]


@EACH
def test_words_with_spaces_in_them_and_sentences_without_words(tokenizer):
    tokenizer = trained(tokenizer, ['New York is new to me'])
    found = list(aligned([['New York', 'is', 'new'], [], ['me']], tokenizer))
    assert [sorted(set(words.tolist())) for _, words in found] == [[0, 1, 2], [], [0]]
    assert found[0][0].tolist() == tokenizer.encode('New York is new')


def test_batches_are_as_announced_and_padding_counts_for_nothing(tmp_path):
    announced = part(tmp_path).batch_like(4)
    split = prepared(tmp_path).splits['validation']
    (*_, last) = eval_batches(split, 4)
    assert {name: (array.shape, array.dtype) for name, array in last.items()} == {
        name: (like.shape, like.dtype) for name, like in announced.items()
    }
    padding = split.rows.padding()
    assert padding['example'] == -1
    assert (padding['labels'] == IGNORED).all()
    assert not padding['segments'].any()


@pytest.mark.parametrize(
    ('dev', 'message'),
    [
        (
            (('a', 'b'), ('O', 'I-PLACE')),
            r"dev\.conll, line 3: tag 2, 'I-PLACE', follows 'O': an entity begins with B-",
        ),
        ((('a', 'b'), ('O', 'PLACE')), r"dev\.conll, line 3: tag 2 is 'PLACE', which is neither O nor B- or I-"),
        (
            (('a', 'b'), ('O', 'B-X')),
            r"dev\.conll, line 3: tag 2: 'B-X' is not a class of the training split, .* B-PLACE, I-",
        ),
    ],
)
def test_tags_that_are_none_are_named_in_one_line(tmp_path, dev, message):
    with pytest.raises(UserError, match=message) as caught:
        part(write(tmp_path, dev=[SENTENCES['dev'][1], dev])).prepare(tmp_path / 'cache')
    assert '\n' not in str(caught.value)


def test_tags_need_not_be_of_entities(tmp_path):
    folder = write(tmp_path, train=[(('a', 'b'), ('DET', 'I-X'))], dev=[(('b',), ('I-X',))])
    with pytest.raises(UserError, match='neither O nor B-'):
        part(folder, classes=2).prepare(tmp_path / 'cache')
    assert part(folder, classes=2, check=None).prepare(tmp_path / 'cache').splits['train'].names == ('DET', 'I-X')
    with pytest.raises(UserError, match='neither O nor B-'):  # what was kept was not checked
        part(folder, classes=2).prepare(tmp_path / 'cache')


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        (dict(classes=5), r'data\.classes: 5, but the training split has 3: B-PLACE, I-PLACE, O; set --config'),
        (dict(tags='ner'), r"train\.conll: has no column 'ner'; it has tokens, tags"),
        (dict(context_length=12, overlap=10), r'data\.overlap: windows of 10 tokens cannot overlap by 10'),
    ],
)
def test_what_does_not_fit_is_told_in_one_line(tmp_path, changes, message):
    with pytest.raises(UserError, match=message) as caught:
        prepared(tmp_path, **changes)
    assert '\n' not in str(caught.value)


@pytest.mark.parametrize(
    ('record', 'message'),
    [
        ('{"tokens": ["a", "b"], "tags": ["O"]}', r'dev\.jsonl, line 1: there are 2 words but 1 tags'),
        ('{"tokens": "a b", "tags": ["O"]}', r"dev\.jsonl, line 1: 'tokens' is not a list of strings, but 'a b'"),
        ('{"tokens": ["a"], "tags": [null]}', r"dev\.jsonl, line 1: 'tags' is not a list of strings, but \[None\]"),
    ],
)
def test_words_and_tags_that_do_not_agree_are_named(tmp_path, record, message):
    (tmp_path / 'train.jsonl').write_text('{"tokens": ["a", "b"], "tags": ["O", "B-X"]}\n')
    (tmp_path / 'dev.jsonl').write_text(f'{record}\n')
    with pytest.raises(UserError, match=message):
        part(tmp_path, classes=2).prepare(tmp_path / 'cache')


def test_it_is_data(tmp_path):
    assert isinstance(part(tmp_path), Data)
