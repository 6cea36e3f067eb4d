# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Questions from files, TFDS and the generator: their rows and windows, where answers stand, and what is refused."""

import gzip
import json
import logging
import socket
from collections import Counter

import numpy as np
import pytest
import tensorflow_datasets as tfds
from tensorflow_datasets.core import constants

from saccade.data.corpus import facts
from saccade.data.corpus.question import Answer, Question, features
from saccade.data.corpus.squad import open_questions
from saccade.data.encoder import questions
from saccade.data.encoder.questions import Questions
from saccade.data.pipeline import eval_batches, train_batches
from saccade.data.split import RowSource
from saccade.data.tokenizer.bpe import BPE
from saccade.data.tokenizer.byte import Byte
from saccade.data.tokenizer.file import TokenizerFile
from saccade.data.tokenizer.tokenizer import BERT
from saccade.data.tokenizer.word import Word
from saccade.decode.predict import PlacedRecords
from saccade.types import Data, Part, UserError

WORDS = Part(Word, (('end', None), ('specials', BERT), ('vocabulary', 400)))
BYTES = Part(Byte, (('end', None), ('specials', BERT)))
PAIRS = Part(BPE, (('end', None), ('specials', BERT), ('vocabulary', 600)))
OPENS, CLOSES = BERT.index('[CLS]'), BERT.index('[SEP]')


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    """No network, and no dataset prepared outside the test."""

    def refuse(*args, **kwargs):
        raise OSError('a test asked for the network')

    monkeypatch.setattr(socket, 'getaddrinfo', refuse)
    monkeypatch.setattr(constants, 'DATA_DIR', str(tmp_path / 'nowhere'))


def qa(id, question, *answers):
    """One question; each answer is its text and where it starts."""
    return {'id': id, 'question': question, 'answers': [{'text': text, 'answer_start': at} for text, at in answers]}


def squad(*articles):
    """A file's content; an article is its title and pairs of a context and questions."""
    return {
        'version': '1.1',
        'data': [
            {'title': title, 'paragraphs': [{'context': context, 'qas': qas} for context, qas in paragraphs]}
            for title, paragraphs in articles
        ],
    }


def written(path, content):
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(json.dumps(content), encoding='utf-8')
    return path


CONTEXT = ' '.join(f'w{number}' for number in range(40))


def at(word):
    return CONTEXT.index(f'{word} ')


TRAIN = squad(
    (
        'one',
        [
            (CONTEXT, [qa('a', 'where is w3 now', ('w3', at('w3')), ('w5', at('w5')))]),
            (CONTEXT, [qa('b', 'and the long', ('w7 w8 w9 w10', at('w7')))]),
        ],
    ),
    ('two', [('short one', [qa('c', 'which', ('one', 6)), qa('d', 'no such')])]),
)
DEV = squad(('three', [(CONTEXT, [qa('e', 'where is w20', ('w20', at('w20')))])]))


@pytest.fixture
def folder(tmp_path):
    written(tmp_path / 'squad' / 'train.json', TRAIN)
    written(tmp_path / 'squad' / 'dev.json', DEV)
    return tmp_path / 'squad'


def prepared(path, cache, **fields):
    given = {'tokenizer': WORDS, 'context_length': 17, 'stride': 5, 'longest_question': 4, 'path': path and str(path)}
    return Questions(**given | fields).prepare(cache)


def target(split, row):
    """The text of the answer that a row has for a target."""
    return split.text(row, *split.rows.ends[row].tolist())


def rows_of(split):
    """The rows of each question, by its id, with their numbers."""
    found = {}
    for row, example in enumerate(split.examples.tolist()):
        found.setdefault(split.questions[example].id, []).append(row)
    return found


def test_it_is_data(folder, tmp_path):
    data = Questions(tokenizer=WORDS, context_length=17, stride=5, longest_question=4, path=str(folder))
    assert isinstance(data, Data)
    split = data.prepare(tmp_path / 'cache').splits['train']
    assert isinstance(split.rows, RowSource)
    assert (split.unit, split.targets) == ('questions', 4)
    assert [question.id for question in split.questions] == ['a', 'b', 'c', 'd']


def test_a_row_is_the_question_and_a_window_between_special_tokens(folder, tmp_path):
    data = prepared(folder, tmp_path / 'cache')
    split, encode = data.splits['train'], data.processor.encode
    row = split.rows[rows_of(split)['a'][1]]
    window = ' '.join(f'w{number}' for number in range(5, 5 + 17 - 3 - 4))
    used = [OPENS, *encode('where is w3 now'), CLOSES, *encode(window), CLOSES]
    assert row['tokens'].tolist() == used
    assert row['types'].tolist() == [0] * 6 + [1] * 11
    short = split.rows[rows_of(split)['c'][0]]
    assert short['tokens'].tolist() == [OPENS, *encode('which'), CLOSES, *encode('short one'), CLOSES, *[0] * 11]
    assert short['segments'].tolist() == [1] * 6 + [0] * 11


def test_the_shapes_of_a_batch_are_known_before_the_data_are_read(folder, tmp_path):
    unread = Questions(tokenizer=WORDS, context_length=17, stride=5, longest_question=4, path=str(tmp_path / 'nowhere'))
    expected = unread.batch_like(3)
    splits = prepared(folder, tmp_path / 'cache').splits
    batches = next(train_batches(splits['train'], 3, 0, 0)), *eval_batches(splits['validation'], 3)
    for batch in batches:
        assert {name: (array.shape, array.dtype) for name, array in batch.items()} == {
            name: (like.shape, like.dtype) for name, like in expected.items()
        }


def test_padding_is_of_no_question(folder, tmp_path):
    padding = prepared(folder, tmp_path / 'cache').splits['train'].rows.padding()
    assert padding['example'] == -1
    assert not padding['segments'].any()


def asking(data, question, context, tokenizer):
    """One question without a known answer."""
    return data.unanswered(PlacedRecords([('text 1', {'question': question, 'context': context})]), (), tokenizer)


@pytest.mark.parametrize('length', [1, 9, 10, 11, 14, 15, 16, 40])
def test_windows_hold_every_token_and_every_span_that_is_no_longer_than_their_overlap(length):
    """By looking at every span: question of 4 tokens, windows of 10 every 6."""
    data = Questions(tokenizer=WORDS, context_length=17, stride=6, longest_question=4, name='facts')
    context = ' '.join(CONTEXT.split()[:length])
    tokenizer = WORDS().train([CONTEXT, 'what is it now'])
    rows = asking(data, 'what is it now', context, tokenizer).rows
    held = [set(range(start, stop)) for start, stop in rows.windows.spans.tolist()]
    assert set.union(*held) == set(range(length))
    assert len(held) == 1 or max(held[-1]) not in held[-2]
    for size in range(1, 10 - 6 + 1):
        for start in range(length - size + 1):
            assert any(set(range(start, start + size)) <= window for window in held)


@pytest.mark.parametrize('tokenizer', [WORDS, BYTES, PAIRS], ids=['words', 'bytes', 'pairs'])
def test_targets_are_the_tokens_of_the_first_answer_or_the_first_token(folder, tmp_path, tokenizer):
    """Beside a search of each window for tokens that stand for a character of the answer."""
    given = {'tokenizer': tokenizer, 'context_length': 40, 'stride': 10, 'longest_question': 16}
    split = prepared(folder, tmp_path / 'cache', **given).splits['train']
    for row, example in enumerate(split.examples.tolist()):
        rows, question = split.rows, split.questions[example]
        begins = 2 + len(rows.asked[example])
        tokens = range(begins, begins + len(rows.windows[row]))
        found = rows[row]
        if not question.answers:
            assert (found['start'], found['stop']) == (0, 0)
            continue
        text, start = question.answers[0]
        wanted = {start + number for number, character in enumerate(text) if character != ' '}
        inside = [token for token in tokens if wanted & set(range(*rows.place(row, token, token)))]
        covered = {character for token in inside for character in range(*rows.place(row, token, token))}
        whole = wanted <= covered
        assert (found['start'], found['stop']) == ((inside[0], inside[-1]) if whole else (0, 0))


def test_a_context_of_several_questions_is_kept_once(folder, tmp_path):
    rows = prepared(folder, tmp_path / 'cache').splits['train'].rows
    assert len(rows.places) == 40 + 2


def test_the_first_of_several_answers_is_trained_on_and_all_are_judged_by(folder, tmp_path):
    split = prepared(folder, tmp_path / 'cache').splits['train']
    assert {target(split, row) for row in rows_of(split)['a'] if split.rows.ends[row, 0]} == {'w3'}
    assert split.gold(0) == ['w3', 'w5']


def test_without_an_answer_every_target_is_the_first_token(folder, tmp_path):
    split = prepared(folder, tmp_path / 'cache').splits['train']
    assert [split.rows.ends[row].tolist() for row in rows_of(split)['d']] == [[0, 0]]
    assert split.gold(3) == []


def test_an_answer_longer_than_the_overlap_is_counted_and_left_out_of_training(folder, tmp_path, caplog):
    long = squad(('one', [(CONTEXT, [qa('b', 'q', ('w4 w5 w6 w7', at('w4'))), qa('c', 'q', ('w1', at('w1')))])]))
    for name in ('train', 'dev'):
        written(folder / f'{name}.json', long)
    with caplog.at_level(logging.WARNING):
        splits = prepared(folder, tmp_path / 'cache', context_length=9, stride=5, longest_question=1).splits
    assert [split.lost.tolist() for split in splits.values()] == [[0], [0]]
    assert set(rows_of(splits['train'])) == {'c'}
    assert set(rows_of(splits['validation'])) == {'b', 'c'}
    assert [split.targets for split in splits.values()] == [1, 2]
    assert 'train: the answers of 1 of 2 questions are not whole in any window' in caplog.text
    kept = prepared(folder, tmp_path / 'cache', context_length=9, stride=2, longest_question=1).splits
    assert [len(split.lost) for split in kept.values()] == [0, 0]


def test_training_needs_an_answer_in_a_window(folder, tmp_path):
    written(folder / 'train.json', squad(('one', [(CONTEXT, [qa('b', 'q', (CONTEXT, 0))])])))
    with pytest.raises(UserError, match='no answer of the training split is whole in a window'):
        prepared(folder, tmp_path / 'cache')


def test_a_long_question_is_cut_off(folder, tmp_path):
    split = prepared(folder, tmp_path / 'cache', longest_question=2).splits['train']
    row = split.rows[rows_of(split)['a'][0]]
    assert row['types'].tolist()[:5] == [0, 0, 0, 0, 1]
    assert target(split, rows_of(split)['a'][0]) == 'w3'


UNEVEN = 'Straße  nach ÉVREUX, 漢字\tund \U0001f600 Zürich-West.'


@pytest.mark.parametrize('answer', ['Straße', 'ÉVREUX', '漢字', '\U0001f600', 'Zürich'])
def test_an_answer_is_cut_out_of_the_text_as_it_was(tmp_path, answer):
    """Whatever the tokenizer makes of it: lower case without accents, bytes, or pairs of them with a space before."""
    pieces = ['strasse', 'straße', 'nach', 'evreux', '漢', '字', 'und', 'zurich', 'west', ',', '-', '.', '\U0001f600']
    vocabulary = written(tmp_path / 'vocab.txt', None)
    vocabulary.write_text('\n'.join([*BERT, *pieces]), encoding='utf-8')
    for tokenizer in (Part(TokenizerFile, (('path', str(vocabulary)),)), BYTES, PAIRS):
        content = squad(*((title, [(UNEVEN, [qa(title, 'was', (answer, UNEVEN.index(answer)))])]) for title in 'ab'))
        path = written(tmp_path / f'{tokenizer.name}.json', content)
        split = prepared(path, tmp_path / 'cache', tokenizer=tokenizer, context_length=90, stride=40).splits['train']
        first, last = split.place(0, *split.rows.ends[0].tolist())
        assert target(split, 0) == UNEVEN[first:last] == answer


@pytest.mark.parametrize(('start', 'found'), [(12, "'w4'"), (-3, "''"), (10_000, "''")])
def test_an_answer_that_is_not_in_its_place_is_refused_by_the_id_of_its_question(tmp_path, start, found):
    path = written(tmp_path / 'off.json', squad(('one', [(CONTEXT, [qa('id-7', 'q', ('w3', start))])])))
    with pytest.raises(UserError) as caught:
        open_questions(None, str(path), tmp_path, 0.5)
    message = str(caught.value)
    assert message.startswith(f"question id-7: its answer 'w3' is not at character {start} of its context")
    assert message.endswith(found)
    assert '\n' not in message


def test_an_answer_that_the_tokenizer_leaves_nothing_of_is_refused(tmp_path):
    vocabulary = tmp_path / 'vocab.txt'
    vocabulary.write_text('\n'.join([*BERT, 'a']))
    content = squad(*((title, [('a \u200b a', [qa(title, 'a', ('\u200b', 2))])]) for title in 'ab'))
    with pytest.raises(UserError, match=r'question .: the tokenizer drops its answer'):
        prepared(
            written(tmp_path / 'x.json', content),
            tmp_path / 'cache',
            tokenizer=Part(TokenizerFile, (('path', str(vocabulary)),)),
        )


def many(count):
    return squad(
        *((f'article {number}', [(CONTEXT, [qa(f'{number}', 'q', ('w1', at('w1')))])]) for number in range(count))
    )


def titles(path, tmp_path, validation=0.3):
    splits = open_questions(None, str(path), tmp_path, validation).splits
    return {name: {question.title for question in split} for name, split in splits.items()}


def test_a_file_is_split_by_article_and_none_moves_when_others_come(tmp_path):
    before = titles(written(tmp_path / 'a.json', many(40)), tmp_path)
    after = titles(written(tmp_path / 'b.json', many(60)), tmp_path)
    assert not before['train'] & before['validation']
    assert 4 <= len(before['validation']) <= 20
    assert all(before[split] <= after[split] for split in before)


def test_questions_without_a_title_are_split_by_article_too(tmp_path):
    content = many(20)
    for article in content['data']:
        del article['title']
    found = titles(written(tmp_path / 'a.json', content), tmp_path)
    assert len(found['train']) + len(found['validation']) == 20
    assert titles(written(tmp_path / 'elsewhere' / 'b.json', content), tmp_path) == found


def test_one_article_cannot_be_split(tmp_path):
    with pytest.raises(UserError, match='1 article leaves none for validation; give a folder'):
        open_questions(None, str(written(tmp_path / 'a.json', DEV)), tmp_path, 0.5)


@pytest.mark.parametrize(
    'names', [('train.json', 'dev.json'), ('train-v2.0.json', 'dev-v2.0.json'), ('train.json', 'validation.json')]
)
def test_a_folder_is_split_by_the_names_of_its_files(tmp_path, names):
    for name, content in zip(names, (TRAIN, DEV), strict=True):
        written(tmp_path / 'squad' / name, content)
    written(tmp_path / 'squad' / 'notes.json', {})
    splits = open_questions(None, str(tmp_path / 'squad'), tmp_path, 0.1).splits
    assert {name: [question.id for question in split] for name, split in splits.items()} == {
        'train': ['a', 'b', 'c', 'd'],
        'validation': ['e'],
    }


def test_a_test_file_is_its_own_split_and_articles_of_the_training_file_are_for_validation(tmp_path):
    written(tmp_path / 'squad' / 'train-v1.1.json', many(20))
    written(tmp_path / 'squad' / 'test-v1.1.json', DEV)
    opened = open_questions(None, str(tmp_path / 'squad'), tmp_path, 0.2)
    assert [question.id for question in opened.splits['test']] == ['e']
    assert {*opened.splits} == {'train', 'validation', 'test'}
    found = {split: {question.title for question in opened.splits[split]} for split in ('train', 'validation')}
    assert all(found.values())
    assert not found['train'] & found['validation']
    assert len(found['train'] | found['validation']) == 20


@pytest.mark.parametrize(
    ('names', 'message'),
    [
        (('train.json',), r'needs one train\.json, and one dev\.json or test\.json; there are train\.json$'),
        (('dev.json',), r'dev\.json: named after a split, and there is not both a train'),
        (('train-v1.1.json', 'dev-v1.1.json', 'train-v2.0.json', 'dev-v2.0.json'), 'several sets of files'),
        (
            ('train_0.json', 'train_1.json', 'dev.json'),
            r'one train\.json, .* there are dev\.json, train_0\.json, train_1',
        ),
    ],
)
def test_a_folder_without_one_file_for_each_split_is_refused(tmp_path, names, message):
    for name in names:
        written(tmp_path / 'squad' / name, DEV)
    with pytest.raises(UserError, match=message):
        open_questions(None, str(tmp_path / 'squad'), tmp_path, 0.1)


@pytest.mark.parametrize(
    ('content', 'message'),
    [
        ('{"data": [', r'a\.json: is not JSON \('),
        ('[]', r"a\.json: has no 'data', which SQuAD's format has there"),
        ('{"data": [{"title": "\\ud83d"}]}', r"a\.json: has the lone surrogate '\\ud83d'"),
        ('{"data": [{"title": 7, "paragraphs": []}]}', r"a\.json/data\[0\]: has no 'title'"),
        (
            '{"data": [{"paragraphs": [{"context": "ab", "qas": [{"id": "1", "question": "q", "answers": '
            '[{"text": "b", "answer_start": true}]}]}]}]}',
            r"/answers\[0\]: has no 'answer_start'",
        ),
        ('{"data": [{"title": "t"}]}', r"a\.json/data\[0\]: has no 'paragraphs'"),
        ('{"data": [{"paragraphs": [{"qas": []}]}]}', r"a\.json/data\[0\]/paragraphs\[0\]: has no 'context'"),
        (
            '{"data": [{"paragraphs": [{"context": "c", "qas": [{"id": "1", "question": "q"}]}]}]}',
            r"a\.json/data\[0\]/paragraphs\[0\]/qas\[0\]: has no 'answers'",
        ),
        (
            '{"data": [{"paragraphs": [{"context": "c", "qas": [{"id": "1", "question": "q", "answers": ["c"]}]}]}]}',
            r"/qas\[0\]/answers\[0\]: has no 'text'",
        ),
    ],
)
def test_what_is_not_in_the_format_is_refused_by_its_place(tmp_path, content, message):
    (tmp_path / 'a.json').write_text(content)
    with pytest.raises(UserError, match=message):
        open_questions(None, str(tmp_path / 'a.json'), tmp_path, 0.1)


@pytest.mark.parametrize('name', ['asked.json', 'asked.json.gz'])
def test_questions_to_predict_need_no_answers_and_their_answers_are_not_read(tmp_path, name):
    """Beside answers that training refuses: one that does not stand where it is said to, and one of another form."""
    asked, wrong = squad(('one', [(CONTEXT, [qa('a', 'q'), qa('b', 'r')])])), qa('c', 's', ('w3', 12))
    for record in asked['data'][0]['paragraphs'][0]['qas']:
        del record['answers']
    asked['data'][0]['paragraphs'] += [{'context': 'short', 'qas': [wrong, qa('d', 't') | {'answers': None}]}]
    content = json.dumps(asked).encode()
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith('.gz') else content)
    records = Questions(tokenizer=WORDS, context_length=17, stride=5, longest_question=4).read(tmp_path / name)
    assert [tuple(record.values()) for record in records] == [
        ('q', CONTEXT), ('r', CONTEXT), ('s', 'short'), ('t', 'short'),
    ]  # fmt: skip
    assert [records.place(index) for index in range(len(records))] == [f'question {id}' for id in 'abcd']


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(UserError, match=r'none\.json: cannot be read'):
        open_questions(None, str(tmp_path / 'none.json'), tmp_path, 0.1)


def test_a_split_without_a_question_is_refused(folder, tmp_path):
    written(folder / 'dev.json', squad(('three', [(CONTEXT, [])])))
    with pytest.raises(UserError, match='there are no questions in the validation split'):
        prepared(folder, tmp_path / 'cache')


@pytest.mark.parametrize(
    ('fields', 'message'),
    [
        ({'stride': 11}, 'windows every 11 tokens would skip some: .* of 4 tokens, .* of 17 has room for 10'),
        ({'context_length': 5}, 'a context of 5 has room for 0'),
        ({'validation': 1.5}, 'validation: 1.5 is not a fraction'),
        ({'tokenizer': Part(Word, (('vocabulary', 50),))}, r"no special token '\[CLS\]' or '<s>'"),
    ],
)  # fmt: skip
def test_fields_that_do_not_fit_are_refused(folder, tmp_path, fields, message):
    with pytest.raises(UserError, match=message):
        prepared(folder, tmp_path / 'cache', **fields)


def test_questions_need_a_name_or_a_path(tmp_path):
    with pytest.raises(UserError, match="give either 'name'"):
        prepared(None, tmp_path)


def test_a_second_run_does_not_tokenise_again(folder, tmp_path, monkeypatch):
    first = prepared(folder, tmp_path / 'cache').splits['train']
    monkeypatch.delattr(questions, '_tokenised')
    again = prepared(folder, tmp_path / 'cache').splits['train']
    for one, other in zip(map(first.rows.__getitem__, range(5)), map(again.rows.__getitem__, range(5)), strict=True):
        for name in one:
            np.testing.assert_array_equal(one[name], other[name])
    prepared(folder, tmp_path / 'cache', stride=3)  # the same tokens in other windows


def test_a_changed_file_is_tokenised_anew(folder, tmp_path):
    prepared(folder, tmp_path / 'cache')
    written(folder / 'dev.json', squad(('three', [('w1 changed', [qa('f', 'q', ('changed', 3))])])))
    split = prepared(folder, tmp_path / 'cache').splits['validation']
    assert target(split, 0) == 'changed'


class _Toy(tfds.core.GeneratorBasedBuilder, skip_registration=True):
    """Questions made here, so that no network is asked for them."""

    VERSION = tfds.core.Version('1.0.0')
    SPLITS = ('train', 'validation')
    FEATURES = features()

    def _info(self):
        return tfds.core.DatasetInfo(builder=self, features=self.FEATURES)

    def _split_generators(self, dl_manager):
        return {split: self._generate_examples(split) for split in self.SPLITS}

    def _generate_examples(self, split):
        for number in range(30):
            context = f'{split} é {number} {CONTEXT}'
            answers = {'text': ['w2', 'w3'], 'answer_start': [context.index('w2'), context.index('w3')]}
            title = f'{split} {number // 3}'
            yield (
                number,
                {'id': f'{split}/{number}', 'title': title, 'question': 'q', 'context': context, 'answers': answers},
            )


class SaccadeToySquad(_Toy):
    pass


class SaccadeToySquadWhole(_Toy):
    SPLITS = ('train',)


class SaccadeToySquadBare(_Toy):
    FEATURES = tfds.features.FeaturesDict({'question': tfds.features.Text(), 'id': tfds.features.Text()})

    def _generate_examples(self, split):
        yield 0, {'question': 'q', 'id': 'i'}


@pytest.mark.long
def test_a_dataset_by_name(tmp_path):
    split = prepared(None, tmp_path, name='saccade_toy_squad').splits['validation']
    assert len(split.questions) == 30
    question = split.questions[4]
    assert question.context.startswith('validation é ')
    assert split.gold(4) == ['w2', 'w3']
    assert {target(split, row) for row in range(len(split.rows)) if split.rows.ends[row, 0]} == {'w2'}


def test_a_dataset_without_a_split_to_judge_by_is_split_by_article(tmp_path):
    splits = open_questions('saccade_toy_squad_whole', None, tmp_path, 0.3).splits
    found = {name: {question.title for question in split} for name, split in splits.items()}
    assert all(found.values())
    assert not found['train'] & found['validation']
    assert len(found['train'] | found['validation']) == 10
    assert sum(map(len, splits.values())) == 30


def test_a_prepared_folder_is_read_without_its_builder(tmp_path):
    by_name = open_questions('saccade_toy_squad', None, tmp_path, 0.1)
    by_path = open_questions(None, str(tmp_path / 'saccade_toy_squad' / '1.0.0'), tmp_path, 0.1)
    assert by_path.digest == by_name.digest
    assert by_path.splits['train'][3] == by_name.splits['train'][3]


def test_a_dataset_of_another_form_is_refused_with_what_it_lacks(tmp_path):
    with pytest.raises(
        UserError, match='has no feature title and no context and no answers, as squad has; it has id, question'
    ):
        open_questions('saccade_toy_squad_bare', None, tmp_path, 0.1)


def test_an_unknown_name_is_refused_with_the_nearest(tmp_path):
    with pytest.raises(UserError, match="there is no dataset 'fact'; did you mean 'facts'"):
        open_questions('fact', None, tmp_path, 0.1)


def test_a_question_about_nothing_is_refused():
    data = Questions(tokenizer=BYTES, context_length=40, stride=10, longest_question=16, name='facts')
    with pytest.raises(UserError, match='text 1: the context has no words, so it contains no answer'):
        asking(data, 'where?', '', BYTES().train([]))


def test_one_question_by_itself():
    data = Questions(tokenizer=BYTES, context_length=40, stride=10, longest_question=16, name='facts')
    split = asking(data, 'where?', CONTEXT, BYTES().train([]))
    assert len(split.rows) > 5
    assert split.gold(0) == []
    assert not split.rows.ends.any()
    begins = 2 + len('where?')
    assert split.text(0, begins, begins + 4) == 'w0 w1'
    assert split.place(1, begins + 2, begins + 3) == (12, 14)


FACTS = Questions(tokenizer=PAIRS, context_length=40, stride=14, longest_question=12, name='facts')


@pytest.fixture(scope='module')
def small_facts(tmp_path_factory):
    """Facts with fewer contexts to train on, which the validation split does not depend on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(facts.CONTEXTS, 'train', 60)
        return FACTS.prepare(tmp_path_factory.mktemp('facts')).splits


@pytest.mark.long
def test_facts_are_many_and_their_contexts_are_longer_than_a_window(small_facts):
    split = small_facts['validation']
    assert split.targets == len(split.questions) >= 50
    windows = np.bincount(split.examples)
    assert (windows > 1).mean() > 0.5
    contexts = [{question.context for question in each.questions} for each in small_facts.values()]
    assert not contexts[0] & contexts[1]


@pytest.mark.long
def test_answers_to_facts_stand_before_inside_and_across_the_ends_of_windows(small_facts):
    split, seen = small_facts['validation'], Counter()
    for row, example in enumerate(split.examples.tolist()):
        text, start = split.questions[example].answers[0]
        begins = 2 + len(split.rows.asked[example])
        window = set(range(*split.rows.place(row, begins, begins + len(split.rows.windows[row]) - 1)))
        answer = set(range(start, start + len(text)))
        where = 'inside' if answer <= window else 'across' if answer & window else 'outside'
        assert (where == 'inside') == (split.rows.ends[row, 0] > 0)
        seen[where if where != 'outside' else ('before', 'after')[start > max(window)]] += 1
    assert all(seen[where] >= 5 for where in ('before', 'across', 'after', 'inside')), seen


@pytest.mark.long
def test_every_answer_to_a_fact_is_recovered_from_its_tokens(small_facts):
    for split in small_facts.values():
        assert not len(split.lost)
        found = {}
        for row, start in enumerate(split.rows.ends[:, 0]):
            if start:
                found.setdefault(int(split.examples[row]), set()).add(target(split, row))
        assert found == {number: set(split.gold(number)) for number in range(split.targets)}


@pytest.mark.long
def test_facts_are_the_same_whenever_they_are_generated():
    def made(split):
        return list(facts.examples(split))

    assert made('validation') == made('validation')
    assert made('validation')[0]['context'] != made('train')[0]['context']


def test_a_question_says_what_it_is_of():
    question = Question('i', 't', 'q', 'a b', (Answer('b', 2),))
    assert question.answers[0].text == 'b'
    with pytest.raises(UserError, match='question i: its answer'):
        Question('i', 't', 'q', 'a  b', (Answer(' ', 1),))
