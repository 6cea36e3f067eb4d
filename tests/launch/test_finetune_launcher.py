# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Classifying, saying numbers and tagging from the command line: trained for a few steps, judged with intervals."""

import json
import random
from pathlib import Path

import pytest

from saccade.train.log import read

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
TEXT = ('--config.model.vocabulary=300', '--config.model.context=10')
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


@pytest.mark.parametrize('name', list(CASES))
def test_a_run_is_trained_judged_and_evaluated_alike(runner, records, tmp_path, name):
    done = trained(runner, name, records, tmp_path)
    assert done.returncode == 0, done.stderr
    assert '(baseline: ' in done.stdout
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


@pytest.mark.parametrize('name', ['classify', 'regress', 'tag'])
def test_records_must_be_given(runner, tmp_path, name):
    config = f'--config={ROOT}/experiments/finetune/{name}.py'
    done = runner.run('train', config, f'--workdir={tmp_path / "run"}', *SMALL, *TEXT)
    assert done.returncode == 2
    assert done.stderr == "error: data: give either 'name', a known dataset, or 'path', files of your own\n"
    assert not (tmp_path / 'run').exists()
