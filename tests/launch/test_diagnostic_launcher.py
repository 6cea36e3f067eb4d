# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A diagnostic from the command line: trained, stopped and resumed, measured at another length, and what is refused."""

import json
import shutil
from pathlib import Path

import pytest
from refused import assert_refused

from saccade.train.log.log import read

CONFIG = Path(__file__).parents[2] / 'experiments/diagnostics/recall.py'
SMALL = (
    f'--config={CONFIG}', '--config.model.width=16', '--config.batch_size=8', '--config.steps=4',
    '--config.log_every=1', '--config.eval_every=2', '--config.checkpoint_every=2', '--config.data.validation=16',
    '--config.data.train=100', '--config.data.generator.vocabulary=64', '--config.model.vocabulary=64',
)  # fmt: skip

pytestmark = pytest.mark.long


@pytest.fixture(scope='module')
def trained(runner, tmp_path_factory):
    workdir = tmp_path_factory.mktemp('runs') / 'recall'
    done = runner.run('train', *SMALL, f'--workdir={workdir}')
    assert done.returncode == 0, done.stderr
    assert 'baseline' in done.stdout
    return workdir


def losses(workdir):
    return [line['loss'] for line in read(workdir / 'metrics.jsonl') if line['split'] == 'train']


def test_it_resumes_to_the_same_losses(trained, runner, tmp_path):
    again = shutil.copytree(trained, tmp_path / 'again')
    shutil.rmtree(again / 'checkpoints/4')
    resumed = runner.run('train', *SMALL, f'--workdir={again}')
    assert 'from step 2' in resumed.stdout, resumed.stderr
    assert losses(again) == losses(trained)


def test_it_is_measured_at_another_length(trained, runner):
    found = runner.run('evaluate', f'--workdir={trained}', '--length=128', '--json')
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)['unit'] == 'sequences'


def test_it_is_measured_on_other_data_than_those_of_training(trained, runner):
    found = [
        runner.run('evaluate', f'--workdir={trained}', '--json', *more)
        for more in ((), ('--config.data.generator.pairs=2', '--length=128'))
    ]
    own, others = (json.loads(each.stdout) for each in found)
    assert [each.stderr for each in found] == ['', '']
    assert own['loss'] != others['loss']
    assert others['baseline']['loss'] != own['baseline']['loss']


@pytest.mark.parametrize(('more', 'words'), [
    ('--config.steps=3', "'--config.steps=3': a run is evaluated with its training config"),
    ('--config.data.tokenizer.vocabulary=9', 'a run is evaluated with its training tokenizer'),
    ('--config.data.generator.vocabulary=99', 'config.model.vocabulary: 64, and data.generator makes 99 tokens'),
    ('--config.data.generator.pears=2', 'pears'),
])  # fmt: skip
def test_what_cannot_be_measured_is_refused_in_a_line(trained, runner, more, words):
    assert_refused(runner.run('evaluate', f'--workdir={trained}', more), words)


def test_too_small_a_vocabulary_is_refused(runner, tmp_path):
    copies = "--config.data.generator={'use': 'data.diagnostic.copying:Copy', 'symbols': 99}"
    refused = runner.run('train', *SMALL, f'--workdir={tmp_path}/a', copies)
    assert refused.returncode == 2
    assert refused.stderr == 'error: config.model.vocabulary: 64, and data.generator makes 101 tokens; set it to 101\n'


def test_it_writes_no_text_and_says_so(trained, runner):
    asked = runner.run('generate', f'--workdir={trained}', '--prompt=a')
    assert asked.returncode == 2
    assert asked.stderr.count('\n') == 1
    assert 'tokenizer' in asked.stderr
