# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Rows with the special tokens of a published tokenizer: around texts and between them, fewer or more than BERT's."""

import json
from dataclasses import replace

import numpy as np
import pytest
from tokenizers import processors

from saccade.build import build
from saccade.data.encoder.questions import Questions
from saccade.data.tokenizer.tokenizer import BERT, Tokenizer
from saccade.data.tokenizer.word import Word
from saccade.types import UserError

CONTEXT = 16
CLS, SEP = BERT.index('[CLS]'), BERT.index('[SEP]')
TOKENIZER = {'use': 'data.tokenizer.word:Word', 'vocabulary': 200, 'end': None, 'specials': list(BERT)}
WORDS = [f'w{number}' for number in range(30)]
STARTS, ENDS = ('[CLS]', CLS), ('[SEP]', SEP)
# By tokenizer: its post-processor, and the special tokens before, between and after two texts.
SHAPES = {
    'gpt2': (processors.ByteLevel(), (), (), ()),
    'llama': (processors.TemplateProcessing('[CLS] $A', '[CLS] $A [CLS] $B', [STARTS]), (CLS,), (CLS,), ()),
    't5': (processors.TemplateProcessing('$A [SEP]', '$A [SEP] $B [SEP]', [ENDS]), (), (SEP,), (SEP,)),
    'roberta': (processors.RobertaProcessing(ENDS, STARTS), (CLS,), (SEP, SEP), (SEP,)),
    'bert': (processors.BertProcessing(ENDS, STARTS), (CLS,), (SEP,), (SEP,)),
}
EVERY_SHAPE = pytest.mark.parametrize('shape', SHAPES)


def tokenizer(shape: str) -> Tokenizer:
    made = Word(vocabulary=200, end=None, specials=BERT).train([' '.join(WORDS)])
    made.backend.post_processor = SHAPES[shape][0]
    return made


def write(folder, records):
    for name in ('train', 'dev'):
        (folder / f'{name}.jsonl').write_text(''.join(f'{json.dumps(record)}\n' for record in records))


def prepared(folder, shape, use, **fields):
    spec = {'use': f'data.encoder.{use}', 'tokenizer': TOKENIZER, 'context_length': CONTEXT, 'path': str(folder)}
    return build(spec | fields)().prepare(folder / 'cache', tokenizer(shape))


def classified(folder, shape, records, use='classified:Classified', **fields):
    write(folder, [{'label': 'yes'} | record for record in records])
    return prepared(folder, shape, use, text='text', label='label', classes=1, **fields).splits['train'].rows


@EVERY_SHAPE
def test_long_texts_fill_a_row_to_its_last_token(shape, tmp_path):
    _, before, between, after = SHAPES[shape]
    encode, records = tokenizer(shape).encode, [{'text': ' '.join(WORDS), 'other': ' '.join(WORDS[:4])}] * 20
    first = CONTEXT - 4 - len(before + between + after)
    row = classified(tmp_path, shape, records, pair='other')[0]
    texts = encode(' '.join(WORDS[:first])), encode(' '.join(WORDS[:4]))
    assert row['tokens'].tolist() == [*before, *texts[0], *between, *texts[1], *after]
    assert row['segments'].all()


@pytest.mark.parametrize(
    ('shape', 'use', 'records', 'place'),
    [
        ('gpt2', 'classified:Classified', [{'text': 'w1'}, {'text': ' '}], 'line 2'),
        ('gpt2', 'classified:Classified', [{'text': 'w1', 'other': ''}, {'text': '', 'other': ''}], 'line 2'),
        ('gpt2', 'siamese:SiameseClassified', [{'text': 'w1', 'other': 'w2'}, {'text': 'w1', 'other': ''}], 'line 2'),
    ],
)
def test_a_row_without_any_token_is_refused(shape, use, records, place, tmp_path):
    fields = {'pair': 'other'} if 'other' in records[0] else {}
    with pytest.raises(UserError, match=f'train.jsonl, {place}: a text has no tokens; fill it in'):
        classified(tmp_path, shape, records * 10, use, **fields)
    texts = [{**record, 'text': record['text'].strip() or 'w3', 'other': 'w2'} for record in records]
    assert len(classified(tmp_path, shape, texts * 10, use, **fields)) > 0
    if use.startswith('siamese'):  # a text of special tokens alone is about nothing
        with pytest.raises(UserError, match='a text has no tokens'):
            classified(tmp_path, 't5', records * 10, use, **fields)
    else:
        assert len(classified(tmp_path, 't5', records * 10, use, **fields)) > 0


@EVERY_SHAPE
def test_an_answer_is_in_the_window_of_its_row(shape, tmp_path):
    context = ' '.join(WORDS)
    answer = {'text': 'w20', 'answer_start': context.index('w20')}
    asked = {'id': 'a', 'question': 'w1 w2', 'answers': [answer]}
    for name in ('train', 'dev'):
        article = {'title': name, 'paragraphs': [{'context': context, 'qas': [{**asked, 'id': name}]}]}
        (tmp_path / f'{name}.json').write_text(json.dumps({'version': '1.1', 'data': [article]}))
    split = prepared(tmp_path, shape, 'questions:Questions', stride=5, longest_question=4).splits['train']
    encode, found = tokenizer(shape).encode, 0
    for number, row in enumerate(split.rows):
        inside = row['tokens'][row['window'] == 1].tolist()
        start, stop = split.place(number, *np.flatnonzero(row['window'])[[0, -1]].tolist())
        assert encode(context[start:stop]) == inside
        if row['start']:
            assert split.text(number, int(row['start']), int(row['stop'])) == 'w20'
            assert row['tokens'][row['start']] == encode('w20')[0]
            found += 1
    assert found


@EVERY_SHAPE
def test_windows_that_would_skip_tokens_are_refused_with_what_the_tokenizer_adds(shape, tmp_path):
    added = len(sum(SHAPES[shape][1:], ()))
    fits = CONTEXT - max(added, 3) - 4
    data = Questions(tokenizer=build(TOKENIZER), context_length=CONTEXT, stride=fits, longest_question=4)
    assert data.frame(tokenizer(shape)).room(2) == CONTEXT - added
    with pytest.raises(UserError, match=f'a context of {CONTEXT} has room for {fits}'):
        replace(data, stride=fits + 1).frame(tokenizer(shape))


@EVERY_SHAPE
def test_labels_and_words_are_those_of_text_tokens(shape, tmp_path):
    sentences = [{'tokens': WORDS, 'tags': ['O'] * len(WORDS)}] * 20
    write(tmp_path, sentences)
    rows = prepared(tmp_path, shape, 'tagged:Tagged', classes=1).splits['train'].rows
    for row in rows:
        there = (row['segments'] > 0) & ~np.isin(row['tokens'], [CLS, SEP])
        assert ((row['labels'] == 0) == there).all()


@EVERY_SHAPE
@pytest.mark.parametrize('pairing', ['OnePassage', 'NextSentence'])
def test_passages_fill_rows(shape, pairing, tmp_path):
    (tmp_path / 'texts').mkdir()
    for number in range(20):
        (tmp_path / 'texts' / f'{number}.txt').write_text(f'{" ".join(WORDS)}. ' * 3)
    pairs = {'pairing': {'use': f'data.encoder.pairing:{pairing}'}, 'validation': 0.4}
    rows = prepared(tmp_path / 'texts', shape, 'passages:Passages', **pairs).splits['train'].rows
    assert max(row['segments'].sum() for row in rows) == CONTEXT
    for row in rows:
        there = (row['segments'] > 0) & ~np.isin(row['tokens'], [CLS, SEP])
        assert ((row['words'] > 0) == there).all()
