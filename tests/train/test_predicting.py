# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What is predicted of texts on their own is what an evaluation counts of the same texts, for every kind of task."""

import io
import json
import random
import shlex
from dataclasses import replace
from functools import partial
from pathlib import Path

import jax
import numpy as np
import pytest

from saccade.data.pipeline import eval_batches
from saccade.decode.inputs import placed_records
from saccade.decode.predict import Predictor, predictions
from saccade.metric.answer import answered
from saccade.metric.classification import classified
from saccade.metric.correlation import correlated
from saccade.metric.entity import tagged
from saccade.metric.sequence import matched
from saccade.task.causal_lm import CausalLM
from saccade.task.regression import PredictedNumber
from saccade.task.tagging import PredictedTags
from saccade.train.config import load_config
from saccade.train.experiment import Experiment
from saccade.train.next_steps import what_next
from saccade.train.predicting import class_names
from saccade.train.workdir import Workdir
from saccade.types import UserError

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
WORDS = ('this', 'that', 'film', 'book', 'is', 'was', 'so', 'very', 'good', 'bad')
SAME_NUMBERS = 1e-5
ROWS = 5  # of a batch, so that there are several batches, and padding in the last

SMALL = {
    'model.width': 16,
    'model.layers': 1,
    'model.block.mixer.heads': 2,
    'batch_size': 8,
}
TEXT = {'model.vocabulary': 100, 'model.context_length': 14}
KINDS = {
    'classify': {**TEXT, 'data.overlap': 4, 'data.text': 'one', 'data.classes': 3},
    'classify a pair': {**TEXT, 'data.text': 'one', 'data.pair': 'two', 'data.classes': 3},
    'regress': {**TEXT, 'data.overlap': 4, 'data.text': 'one', 'data.pair': None, 'data.value': 'number'},
    'regress a pair': {**TEXT, 'data.text': 'one', 'data.pair': 'two', 'data.value': 'number'},
    'tag': {**TEXT, 'data.classes': 3, 'data.overlap': 4},
    'sort': {'data.train': 40, 'data.validation': 17, 'data.length': 4, 'data.highest': 9},
    'answer': {'model.vocabulary': 300, 'model.context_length': 40, 'data.stride': 6, 'data.longest_question': 8},
}


@pytest.fixture(scope='module')
def files(tmp_path_factory):
    """Records that serve every kind, and questions, some of them longer than a row."""
    draws, folder = random.Random(0), tmp_path_factory.mktemp('files')
    for name, count in (('train', 40), ('dev', 17)):
        (folder / f'{name}.jsonl').write_text(''.join(f'{json.dumps(_record(draws))}\n' for _ in range(count)))
    (folder / 'questions').mkdir()
    for name, count in (('train', 12), ('dev', 9)):
        paragraphs = [_paragraph(draws, f'{name}{number}') for number in range(count)]
        squad = {'data': [{'title': name, 'paragraphs': paragraphs}]}
        (folder / 'questions' / f'{name}.json').write_text(json.dumps(squad))
    return folder


def _record(draws):
    words = draws.choices(WORDS, k=draws.randrange(1, 30))
    tags = ['B-X' if word in ('film', 'book') else 'O' for word in words]
    tags = ['I-X' if tag == before == 'B-X' else tag for before, tag in zip(['O', *tags], tags, strict=False)]
    return {
        'one': ' '.join(words),
        'two': ' '.join(draws.choices(WORDS, k=draws.randrange(1, 20))),
        'label': draws.choice(['bad', 'fair', 'good']),
        'number': draws.uniform(-1, 5),
        'tokens': words,
        'tags': tags,
    }


def _paragraph(draws, name):
    context = ' '.join(draws.choices(WORDS, k=draws.randrange(1, 40)))
    first = context.split()[0]
    question = {'id': name, 'question': 'what is it', 'answers': [{'text': first, 'answer_start': 0}]}
    return {'context': context, 'qas': [question]}


@pytest.fixture(scope='module')
def opened(files, tmp_path_factory):
    """Of each kind, once: the experiment, its data, and a predictor with weights that nobody trained."""
    made = {}

    def open_kind(kind):
        if kind not in made:
            made[kind] = _open(kind, files, tmp_path_factory.mktemp('cache'))
        return made[kind]

    return open_kind


def config_of(kind, files):
    name = kind.split()[0]
    changes = dict(SMALL, **KINDS[kind])
    if name != 'sort':
        changes['data.path'] = str(files / 'questions' if name == 'answer' else files)
    overrides = [f'--config.{field}={value}' for field, value in changes.items()]
    return load_config(f'{ROOT}/experiments/finetune/{name}.py', overrides)


def _open(kind, files, cache):
    experiment = Experiment.of(config_of(kind, files))
    task, model, data = experiment.task(), experiment.model(), experiment.data()
    prepared = data.prepare(cache)
    rows = {name: jax.numpy.zeros(leaf.shape, leaf.dtype) for name, leaf in data.batch_like(2).items()}
    params = jax.jit(partial(task.init, model))(jax.random.key(0), rows)
    leaves, tree = jax.tree.flatten(params)
    keys = jax.random.split(jax.random.key(1), len(leaves))
    spread = [leaf + 0.3 * jax.random.normal(key, leaf.shape) for leaf, key in zip(leaves, keys, strict=True)]
    params = jax.tree.unflatten(tree, spread)  # other weights than zeros, so that examples differ
    names = getattr(prepared.splits['validation'], 'names', ())
    return prepared.splits['validation'], Predictor(task, data, model, params, prepared.processor, names, ROWS)


def outputs_of(predictor, given, file=None):
    return [output.record() for _, output in predictor.predict(placed_records(predictor.data, given, file))]


def recounted(kind, split, found, files):
    """The metrics of outputs, from the true answers as the files have them."""
    records = [json.loads(line) for line in (files / 'dev.jsonl').read_text().splitlines()]
    if kind.startswith('classify'):
        names = split.names
        pairs = ([names.index(each['label']) for each in records], [names.index(each['label']) for each in found])
        return classified(*map(np.array, pairs), names)
    if kind.startswith('regress'):
        return correlated(np.array([each['number'] for each in records]), np.array([each['value'] for each in found]))
    if kind == 'tag':
        return tagged([each['tags'] for each in records], [each['tags'] for each in found])
    if kind == 'sort':
        gold = [[split.names[tag] for tag in tags] for tags in split.sentences()]
        return matched(gold, [each['tags'] for each in found])
    return answered([split.gold(number) for number in range(len(found))], [each['answer'] for each in found])


def given_of(kind, split, predictor, files):
    """The file of the validation split, where the data have one."""
    if kind == 'sort':
        ids = split.rows.tokens
        return {'text': [predictor.processor.decode(ids[row]) for row in range(len(ids))]}, None
    return {}, str(files / 'questions' / 'dev.json' if kind == 'answer' else files / 'dev.jsonl')


@pytest.mark.long
@pytest.mark.parametrize('kind', KINDS)
def test_predictions_of_a_file_are_what_an_evaluation_of_it_counts(kind, files, opened):
    split, predictor = opened(kind)
    found = outputs_of(predictor, *given_of(kind, split, predictor, files))
    batches = eval_batches(split, 8)
    task = predictor.task
    expected = task.evaluate(predictions(task, predictor.model, predictor.params, batches), split)
    measured = recounted(kind, split, found, files)
    assert measured.keys() == expected.keys()
    for name, metric in expected.items():
        assert measured[name].value == pytest.approx(metric.value, rel=SAME_NUMBERS), name
    assert len({json.dumps(each) for each in found}) > 1
    assert all(json.loads(json.dumps(each, allow_nan=False)) == each for each in found)


@pytest.mark.long
@pytest.mark.parametrize('kind', KINDS)
def test_the_example_that_a_run_suggests_is_one_that_it_can_answer(kind, files, opened):
    _, predictor = opened(kind)
    config = config_of(kind, files)
    (command,) = (line for line in what_next('runs/a', config) if 'launch/predict.py' in line)
    words = shlex.split(command.partition('launch/predict.py')[2])
    flags = dict(word.removeprefix('--').split('=', 1) for word in words)
    assert flags.pop('workdir') == 'runs/a'
    assert len(outputs_of(predictor, {name: [text] for name, text in flags.items()})) == 1


@pytest.mark.long
def test_a_long_text_is_read_in_windows_and_predicted_once(opened):
    _, predictor = opened('classify')
    words = random.Random(1).choices(WORDS, k=60)
    split = predictor.data.unanswered(Given([{'one': ' '.join(words)}]), predictor.names, predictor.processor)
    assert len(split.rows) > 3
    (found,) = outputs_of(predictor, {'text': [' '.join(words)]})
    assert sum(found['probabilities'].values()) == pytest.approx(1)
    assert found['probability'] == max(found['probabilities'].values()) == found['probabilities'][found['label']]


class Given(list):
    def place(self, index):
        return f'text {index + 1}'


@pytest.mark.long
def test_each_word_of_a_sentence_has_a_tag_however_long_it_is(opened):
    _, predictor = opened('tag')
    sentences = ['', 'film', ' '.join(60 * ['book'])]
    found = outputs_of(predictor, {'text': sentences})
    assert [each['words'] for each in found] == [sentence.split() for sentence in sentences]
    assert [len(each['tags']) for each in found] == [0, 1, 60]


def test_entities_are_the_words_that_a_name_has():
    found = PredictedTags(['Ada', 'Lovelace', 'in', 'London'], ['B-PER', 'I-PER', 'O', 'B-LOC'])
    assert found.record()['entities'] == [
        {'type': 'PER', 'text': 'Ada Lovelace', 'start': 0, 'stop': 2},
        {'type': 'LOC', 'text': 'London', 'start': 3, 'stop': 4},
    ]
    assert found.lines({}) == [
        'Ada/B-PER Lovelace/I-PER in/O London/B-LOC',
        '  PER     Ada Lovelace',
        '  LOC     London',
    ]
    assert PredictedTags(['3', '1'], ['1', '3']).record()['entities'] == []


def test_a_number_that_rounds_to_zero_has_no_sign():
    assert PredictedNumber(-1e-9).lines({'text': 'a'}) == ['0.0000  a']


@pytest.mark.long
def test_predictions_do_not_depend_on_what_is_read_with_them(files, opened):
    _, predictor = opened('classify')
    file = str(files / 'dev.jsonl')
    alone = outputs_of(replace(predictor, rows=1), {}, file)
    for one, other in zip(alone, outputs_of(predictor, {}, file), strict=True):
        assert one['label'] == other['label']
        assert one['probability'] == pytest.approx(other['probability'], rel=SAME_NUMBERS)


def test_texts_come_from_flags_from_records_and_from_lines_alike(opened, tmp_path, monkeypatch):
    _, predictor = opened('classify a pair')
    pairs = [('this film', 'that book'), ('so bad', 'very good')]
    given = dict(zip(('text', 'pair'), map(list, zip(*pairs, strict=True)), strict=True))
    lines = ''.join(f'{one}\t{two}\n' for one, two in pairs)
    (tmp_path / 'lines.txt').write_text(lines)
    (tmp_path / 'records.tsv').write_text(f'two\tone\n{"".join(f"{two}	{one}{chr(10)}" for one, two in pairs)}')
    (tmp_path / 'records.jsonl').write_text(''.join(f'{json.dumps({"one": a, "two": b})}\n' for a, b in pairs))
    expected = outputs_of(predictor, given)
    for name in ('lines.txt', 'records.tsv', 'records.jsonl'):
        assert outputs_of(predictor, {}, str(tmp_path / name)) == expected
    monkeypatch.setattr('sys.stdin', io.TextIOWrapper(io.BytesIO(lines.encode())))
    assert outputs_of(predictor, {}) == expected
    assert outputs_of(predictor, {'text': ['this film', 'so bad'], 'pair': ['that book']})[0] == expected[0]


@pytest.mark.parametrize(
    ('kind', 'given', 'file', 'message'),
    [
        ('classify', {'text': ['a'], 'pair': ['b']}, None, 'this model reads --text, not --text and --pair'),
        ('classify a pair', {'text': ['a']}, None, 'this model reads --text and --pair, not --text'),
        ('answer', {'text': ['a']}, None, 'this model reads --question and --context, not --text'),
        ('classify', {'text': ['a']}, 'b.txt', 'give either --text or --file'),
        ('classify a pair', {'text': ['a', 'b', 'c'], 'pair': ['a', 'b']}, None, '--pair is given 2 times; give it'),
        ('classify', {}, '/no/such.txt', '/no/such.txt: cannot be read'),
        ('classify', {}, '/no/such.jsonl', '/no/such.jsonl: there is no such file'),
        ('classify a pair', {}, 'LINES', 'lines.txt, line 1: 1 field, expected text and pair'),
        ('classify', {}, 'WRONG', "wrong.jsonl, line 1: has no column 'one'"),
        ('answer', {'question': ['what'], 'context': [' ']}, None, 'text 1: the context has no word'),
        ('sort', {'text': ['1 2']}, None, "text 1: a sequence must be 4 numbers from 0 to 8, .*not '1 2'"),
        ('sort', {'text': ['1 2 3 9']}, None, "not '1 2 3 9'"),
    ],
)
def test_what_cannot_be_predicted_is_refused(kind, given, file, message, opened, tmp_path):
    (tmp_path / 'lines.txt').write_text('one\n')
    (tmp_path / 'wrong.jsonl').write_text('{"two": "a"}\n')
    places = {'LINES': str(tmp_path / 'lines.txt'), 'WRONG': str(tmp_path / 'wrong.jsonl')}
    with pytest.raises(UserError, match=message):
        outputs_of(opened(kind)[1], given, places.get(file, file))


def test_a_language_model_is_refused_with_what_it_is_for(opened):
    _, predictor = opened('classify')
    with pytest.raises(UserError, match=r'a run of task.causal_lm:CausalLM predicts no class.*launch/generate.py'):
        replace(predictor, task=CausalLM())


@pytest.mark.parametrize('content', ['["a"]', '{}', '[1, 2, 3]', 'not JSON'])
def test_names_of_classes_that_do_not_fit_are_refused(content, files, tmp_path):
    workdir = Workdir(tmp_path)
    workdir.classes.write_text(content)
    with pytest.raises(UserError, match=r'classes.json: (not a list of the names of 3 classes|cannot be read as JSON)'):
        class_names(Experiment.of(config_of('classify', files)), workdir)


def test_names_of_classes_are_those_of_the_run(files, tmp_path):
    experiment, workdir = Experiment.of(config_of('classify', files)), Workdir(tmp_path)
    with pytest.raises(UserError, match=r'classes\.json: cannot be read as JSON: .*No such file'):
        class_names(experiment, workdir)
    workdir.classes.write_text('["x", "y", "z"]')
    assert class_names(experiment, workdir) == ('x', 'y', 'z')
    assert class_names(Experiment.of(config_of('regress', files)), workdir) == ()
