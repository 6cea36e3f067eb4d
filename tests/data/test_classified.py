# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Texts and pairs with a class or a number each: rows, chunks, labels, and what is refused."""

import json
import math

import numpy as np
import pytest

from saccade.build import build
from saccade.data.pipeline import eval_batches, train_batches
from saccade.data.tokenizer.file import open_tokenizer
from saccade.data.tokenizer.tokenizer import BERT, Tokenizer
from saccade.types import IGNORED, Data, UserError

CONTEXT = 12
CLS, SEP = 2, 3
TOKENIZER = {'use': 'data.tokenizer.word:Word', 'vocabulary': 500, 'end': None, 'specials': list(BERT)}
COLUMNS = {'classified:Classified': {'label': 'label', 'classes': 3}, 'valued:Valued': {'value': 'score'}}
NAMES = ('bad', 'fine', 'good')
KINDS = pytest.mark.parametrize('kind', list(COLUMNS))


def records(split, lengths):
    """One record of each length, in words; no word of one stands in another."""
    return [
        {
            'text': ' '.join(f'{split}{number}w{word}' for word in range(length)),
            'other': ' '.join(f'{split}{number}v{word}' for word in range(2 * number)),
            'label': NAMES[-number % 3],
            'score': number / 4,
        }
        for number, length in enumerate(lengths)
    ]


LENGTHS = {'train': [3, 10, 11, 40, 0, 7], 'dev': [25, 1, 10]}
RECORDS = {split: records(split, lengths) for split, lengths in LENGTHS.items()}


def write(folder, **splits):
    for split, found in (RECORDS | splits).items():
        (folder / f'{split}.jsonl').write_text(''.join(f'{json.dumps(record)}\n' for record in found))
    return folder


def part(folder, kind='classified:Classified', **changes):
    own = {
        'use': f'data.encoder.{kind}',
        'tokenizer': TOKENIZER,
        'context_length': CONTEXT,
        'text': 'text',
        'path': str(folder),
    }
    return build(own | COLUMNS[kind] | changes)()


def prepared(tmp_path, kind='classified:Classified', **changes):
    return part(write(tmp_path), kind, **changes).prepare(tmp_path / 'cache')


def texts(row, tokenizer):
    """The texts of a row, read off the row itself."""
    ids = row['tokens'][row['segments'] > 0].tolist()
    assert (ids[0], ids[-1]) == (CLS, SEP)
    stops = [at for at, token in enumerate(ids) if token == SEP]
    return [tokenizer.decode(ids[start + 1 : stop]) for start, stop in zip([0, *stops], stops, strict=False)]


def test_a_row_is_a_text_and_its_class(tmp_path):
    data = prepared(tmp_path)
    row = data.splits['train'].rows[0]
    assert texts(row, data.processor) == [RECORDS['train'][0]['text']]
    assert row['example'] == 0
    assert data.splits['train'].names == NAMES
    assert [NAMES[label] for label in data.splits['validation'].answers] == [one['label'] for one in RECORDS['dev']]
    assert row['label'] == NAMES.index(RECORDS['train'][0]['label'])


def test_a_row_is_a_text_and_its_number(tmp_path):
    data = prepared(tmp_path, 'valued:Valued')
    assert data.splits['train'].rows[0]['value'] == np.float32(RECORDS['train'][0]['score'])
    assert data.splits['validation'].answers.tolist() == [one['score'] for one in RECORDS['dev']]


@KINDS
@pytest.mark.parametrize('overlap', [0, 4])
def test_the_chunks_of_a_text_cover_all_its_tokens(tmp_path, kind, overlap):
    data = prepared(tmp_path, kind, overlap=overlap)
    split = data.splits['train']
    answer = 'label' if kind.startswith('classified') else 'value'
    found = [[] for _ in RECORDS['train']]
    for number in range(len(split.rows)):
        row = split.rows[number]
        (chunk,) = texts(row, data.processor)
        words = chunk.split()
        known = found[row['example']]
        assert known[len(known) - overlap :] == (words[:overlap] if known else [])
        known += words[overlap:] if known else words
        assert row[answer] == split.answers[row['example']]
    assert [' '.join(words) for words in found] == [record['text'] for record in RECORDS['train']]
    assert len(split.rows) > split.targets == len(RECORDS['train'])
    assert split.unit == 'examples'


def test_of_a_pair_the_longer_is_cut(tmp_path):
    data = prepared(tmp_path, pair='other')
    room = CONTEXT - 3
    assert len(data.splits['train'].rows) == len(RECORDS['train'])
    for number, record in enumerate(RECORDS['train']):
        row = data.splits['train'].rows[number]
        found = [text.split() for text in texts(row, data.processor)]
        whole = [record['text'].split(), record['other'].split()]
        assert all(words == text[: len(words)] for words, text in zip(found, whole, strict=True))
        assert sum(map(len, found)) == min(room, sum(map(len, whole)))
        assert np.flatnonzero(row['types']).tolist() == list(range(2 + len(found[0]), 3 + sum(map(len, found))))


@KINDS
def test_batches_are_as_announced_and_padding_counts_for_nothing(tmp_path, kind):
    announced = part(tmp_path, kind).batch_like(4)
    split = prepared(tmp_path, kind).splits['validation']
    (*_, last) = eval_batches(split, 4)
    assert {name: (array.shape, array.dtype) for name, array in last.items()} == {
        name: (like.shape, like.dtype) for name, like in announced.items()
    }
    assert next(train_batches(split, 4, 0, 0)).keys() == announced.keys()
    padding = split.rows.padding()
    assert padding['example'] == -1
    assert not padding['segments'].any()
    assert np.isnan(padding['value']) if 'value' in padding else padding['label'] == IGNORED


@KINDS
def test_what_was_tokenised_is_kept(tmp_path, kind, monkeypatch):
    first = prepared(tmp_path, kind, overlap=2)
    monkeypatch.setattr(Tokenizer, 'encode_batch', None)
    again = prepared(tmp_path, kind, overlap=2)
    assert again.splits['train'].names == first.splits['train'].names
    for number in range(len(first.splits['train'].rows)):
        rows = (data.splits['train'].rows[number] for data in (first, again))
        assert all(np.array_equal(*pair) for pair in zip(*(row.values() for row in rows), strict=True))


@KINDS
def test_a_test_beside_the_others_is_one_more_split_and_changes_none(tmp_path, kind):
    before = prepared(tmp_path, kind)
    write(tmp_path, test=records('train', [3, 1]))
    after = part(tmp_path, kind).prepare(tmp_path / 'cache')
    assert list(after.splits) == ['train', 'validation', 'test']
    assert len(after.splits['test'].answers) == 2
    for name, split in before.splits.items():
        np.testing.assert_array_equal(split.answers, after.splits[name].answers)
        for row in range(len(split.rows)):
            np.testing.assert_array_equal(split.rows[row]['tokens'], after.splits[name].rows[row]['tokens'])


def test_changed_records_are_tokenised_anew(tmp_path):
    before = prepared(tmp_path)
    folder = write(tmp_path, train=RECORDS['train'][::-1])
    after = part(folder).prepare(tmp_path / 'cache')
    assert before.splits['train'].answers.tolist() == after.splits['train'].answers.tolist()[::-1]
    assert len(after.splits['train'].rows[0]['tokens']) == CONTEXT
    assert texts(after.splits['train'].rows[0], after.processor) == [RECORDS['train'][-1]['text']]


def test_a_tokenizer_that_is_given_is_used(tmp_path):
    prepared(tmp_path).processor.save(tmp_path)
    other = part(tmp_path, tokenizer=TOKENIZER | {'vocabulary': 20})
    assert other.prepare(tmp_path / 'cache').processor.size == 20
    assert other.prepare(tmp_path / 'cache', open_tokenizer(tmp_path / 'tokenizer.json')).processor.size > 20


def test_the_tokenizer_knows_the_training_texts_alone(tmp_path):
    tokenizer = prepared(tmp_path, pair='other').processor
    known = tokenizer.backend.get_vocab()
    assert {'train0w0', 'train1v0'} <= known.keys()
    assert not [word for word in known if word.startswith('dev')]
    assert 'train1v0' not in prepared(tmp_path).processor.backend.get_vocab()


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        (dict(classes=2), r'data\.classes: 2, but .* has 3: bad, fine, good; set --config\.data\.classes=3'),
        (dict(label='lable'), r"train\.jsonl, line 1: has no column 'lable'; did you mean 'label'"),
        (dict(label='text'), r"train\.jsonl, line 5: 'text' is not a class, but ''"),
        (dict(text='score'), r"train\.jsonl, line 1: 'score' is not text, but 0\.0"),
        (dict(pair='other', overlap=2), r'data\.overlap: pairs of texts are truncated'),
        (dict(overlap=10), r'data\.overlap: windows of 10 tokens cannot overlap by 10'),
        (dict(context_length=2), r'data\.context_length: there is no room for text'),
        (dict(context_length=3, pair='other'), r'data\.context_length: there is no room for text'),
        (dict(path=None), r"give either 'name', a known dataset, or 'path'"),
        (dict(tokenizer=TOKENIZER | {'specials': []}), r"no special token '\[CLS\]'"),
    ],
)
def test_what_does_not_fit_is_told_in_one_line(tmp_path, changes, message):
    for _ in range(2):  # also where it was tokenised before
        with pytest.raises(UserError, match=message) as caught:
            prepared(tmp_path, **changes)
        assert '\n' not in str(caught.value)
        prepared(tmp_path)


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        (dict(label='poor'), r"dev\.jsonl, line 2: 'poor' is not a class of the training split, .* bad, fine, good"),
        (dict(label=None), r"dev\.jsonl, line 2: 'label' is not a class, but None"),
        (dict(text=3), r"dev\.jsonl, line 2: 'text' is not text, but 3"),
    ],
)
def test_a_record_that_does_not_fit_is_named(tmp_path, changes, message):
    folder = write(tmp_path, dev=[RECORDS['dev'][0], RECORDS['dev'][1] | changes])
    with pytest.raises(UserError, match=message):
        part(folder).prepare(tmp_path / 'cache')


@pytest.mark.parametrize(
    'score', ['high', None, [1], math.nan, math.inf, True, '1_000', '1,5', '٣', '1e400', 1e39, 10**400]
)
def test_a_value_that_is_no_number_is_named(tmp_path, score):
    folder = write(tmp_path, dev=[RECORDS['dev'][0], RECORDS['dev'][1] | {'score': score}])
    with pytest.raises(UserError, match=r"dev\.jsonl, line 2: 'score' is not a number, but"):
        part(folder, 'valued:Valued').prepare(tmp_path / 'cache')


def test_classes_and_numbers_may_be_written_in_json_or_not(tmp_path):
    train = [{'text': 'a', 'label': 0, 'score': '0.5'}, {'text': 'b', 'label': 1, 'score': 2}]
    for label in (1, '1'):
        folder = write(tmp_path, train=train, dev=[{'text': 'c', 'label': label, 'score': 1}])
        assert part(folder, classes=2).prepare(tmp_path / 'cache').splits['train'].names == ('0', '1')
        values = part(folder, 'valued:Valued').prepare(tmp_path / 'cache').splits['train'].answers
        assert values.tolist() == [0.5, 2.0]


@KINDS
def test_it_is_data(tmp_path, kind):
    assert isinstance(part(tmp_path, kind), Data)


def test_a_class_that_only_another_split_has_is_named(tmp_path):
    dev = [{'text': 'a b', 'label': name} for name in (*NAMES, 'new')]
    words = "the training split has 3: bad, fine, good; 'new' is only in validation: give files for both splits"
    with pytest.raises(UserError, match=words):
        part(write(tmp_path, dev=dev), classes=4).prepare(tmp_path / 'cache')
