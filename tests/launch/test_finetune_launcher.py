# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Classifying, saying numbers and tagging from the command line: trained for a few steps, judged with intervals, and
asked of texts.
"""

import json
import random
from pathlib import Path

import pytest

from saccade.train.log.log import read

ROOT = Path(__file__).parents[2]
SAME_NUMBERS = 1e-6
WORDS = ('this', 'that', 'film', 'book', 'is', 'was', 'so', 'very')
SMALL = (
    '--config.model.width=16',
    '--config.model.layers=1',
    '--config.model.block.mixer.heads=2',
    '--config.batch_size=8',
    '--config.steps=4',
    '--config.log_every=1',
    '--config.eval_every=2',
    '--config.checkpoint_every=2',
)
TEXT = ('--config.model.vocabulary=300', '--config.model.context_length=10')
CASES = {
    'classify': ((*TEXT, '--config.data.overlap=2'), {'accuracy', 'f1', 'matthews'}),
    'regress': ((*TEXT, '--config.data.pair=None'), {'pearson', 'spearman', 'mean_squared_error'}),
    'tag': ((*TEXT, '--config.data.classes=2'), {'f1', 'precision', 'recall', 'token_accuracy'}),
    'sort': (('--config.data.train=50', '--config.data.validation=20'), {'token_accuracy', 'exact_match'}),
}


@pytest.fixture(scope='module')
def records(tmp_path_factory):
    """Sentences with a class that one word decides, with a number and with names."""
    generator, folder = random.Random(0), tmp_path_factory.mktemp('records')
    for name, count in (('train', 60), ('dev', 21)):
        lines = [_record(generator) for _ in range(count)]
        (folder / f'{name}.jsonl').write_text(''.join(f'{json.dumps(line)}\n' for line in lines))
    return folder


def _record(generator):
    words = generator.choices(WORDS, k=generator.randrange(1, 30))
    label = generator.choice(['good', 'bad'])
    tags = ['O'] * len(words) + ['B-X']
    texts = {'sentence': ' '.join([*words, label]), 'sentence1': words[0], 'tokens': [*words, label]}
    return {**texts, 'verdict': label, 'label': len(words), 'tags': tags}


def trained(runner, name, records, workdir):
    given = [] if name == 'sort' else [f'--config.data.path={records}']
    given += ['--config.data.label=verdict'] if name == 'classify' else []
    config = f'--config={ROOT}/experiments/finetune/{name}.py'
    return runner.run('train', config, f'--workdir={workdir}', *SMALL, *CASES[name][0], *given)


@pytest.mark.long
@pytest.mark.parametrize('name', CASES)
def test_a_run_is_trained_judged_and_evaluated_alike_and_predicts_what_was_counted(runner, records, tmp_path, name):
    done = trained(runner, name, records, tmp_path)
    assert done.returncode == 0, done.stderr
    assert f'(baseline {"mean" if name == "regress" else "majority"}: ' in done.stdout
    assert 'generate.py' not in done.stdout
    shown = runner.run('evaluate', f'--workdir={tmp_path}', '--json')
    assert shown.returncode == 0, shown.stderr
    found = json.loads(shown.stdout)
    logged = [record for record in read(tmp_path / 'metrics.jsonl') if record['split'] == 'validation'][-1]
    assert found['intervals'].keys() == CASES[name][1]
    for metric, (low, high) in found['intervals'].items():
        assert low <= found[metric] <= high
        assert found[metric] == pytest.approx(logged[metric], rel=SAME_NUMBERS)
        assert metric in found['baseline']
    assert found['loss'] == pytest.approx(logged['loss'], rel=SAME_NUMBERS)
    assert "launch/predict.py '--text=" in done.stdout
    given = ['--text=5 3 9 0 1 2 4 6 8 7'] if name == 'sort' else [f'--file={records}/dev.jsonl']
    printed = runner.run('predict', f'--workdir={tmp_path}', *given, '--json')
    assert printed.returncode == 0, printed.stderr
    outputs = [json.loads(line) for line in printed.stdout.splitlines()]
    said = [json.loads(line) for line in (records / 'dev.jsonl').read_text().splitlines()]
    assert COUNTED[name](outputs, said, found)


@pytest.mark.long
def test_classes_of_other_data_have_the_numbers_of_training(runner, records, tmp_path):
    """Other data may lack a class, and a name that was not trained is refused with those that were."""
    assert trained(runner, 'classify', records, tmp_path / 'run').returncode == 0
    lines = [json.loads(line) for line in (records / 'dev.jsonl').read_text().splitlines()]
    one = [line for line in lines if line['verdict'] == 'good']
    for name, changed in (('one', one), ('other', [{**line, 'verdict': line['verdict'].title()} for line in lines])):
        (tmp_path / name).mkdir()
        for split in ('train', 'test', 'dev'):
            (tmp_path / name / f'{split}.jsonl').write_text(''.join(f'{json.dumps(line)}\n' for line in changed))
    there = f'--workdir={tmp_path}/run', '--split=test', '--json'
    done = runner.run('evaluate', *there, f'--config.data.path={tmp_path}/one')
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    printed = runner.run('predict', f'--workdir={tmp_path}/run', f'--file={tmp_path}/one/test.jsonl', '--json')
    labels = [json.loads(line)['label'] for line in printed.stdout.splitlines()]
    assert found['accuracy'] == pytest.approx(labels.count('good') / len(one))
    assert found['baseline']['accuracy'] in (0, 1)  # of the class that most training records have
    done = runner.run('evaluate', *there, f'--config.data.path={tmp_path}/other')
    assert done.returncode == 2
    assert 'is not a class of the training split, which has bad, good' in done.stderr
    done = runner.run('evaluate', there[0], '--json', f'--config.data.path={tmp_path}/one/test.jsonl')
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)['targets'] == len(one)  # all of a file that the run was not trained on
    assert json.loads(done.stdout)['accuracy'] == found['accuracy']


def same_accuracy(outputs, said, found):
    right = [each['label'] == true['verdict'] for each, true in zip(outputs, said, strict=True)]
    return sum(right) / len(right) == pytest.approx(found['accuracy'])


def same_error(outputs, said, found):
    squares = [(each['value'] - true['label']) ** 2 for each, true in zip(outputs, said, strict=True)]
    return sum(squares) / len(squares) == pytest.approx(found['mean_squared_error'], rel=SAME_NUMBERS)


def same_tags(outputs, said, found):
    pairs = [zip(each['tags'], true['tags'], strict=True) for each, true in zip(outputs, said, strict=True)]
    right = [tag == true for pair in pairs for tag, true in pair]
    return sum(right) / len(right) == pytest.approx(found['token_accuracy'])


COUNTED = {
    'classify': same_accuracy,
    'regress': same_error,
    'tag': same_tags,
    'sort': lambda outputs, said, found: len(outputs[0]['tags']) == 10,
}
