# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A run on WAV files from the command line: trained, resumed, evaluated, asked; drawn chirps beside it."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import scipy.io.wavfile

from saccade.train.log.log import read

EXPERIMENTS = Path(__file__).parents[2] / 'experiments'
SHORT = (
    '--config.model.width=16', '--config.model.layers=1', '--config.batch_size=8', '--config.steps=4',
    '--config.log_every=1', '--config.eval_every=2', '--config.checkpoint_every=2',
)  # fmt: skip

pytestmark = pytest.mark.long


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    folder, draw = tmp_path_factory.mktemp('sounds'), np.random.default_rng(0)
    for name in ('high', 'low'):
        (folder / name).mkdir()
        for number in range(10):
            tone = np.sin((0.3 + (name == 'high')) * np.arange(2000)) + 0.1 * draw.normal(size=2000)
            scipy.io.wavfile.write(folder / name / f'{number}.wav', 16_000, (10_000 * tone).astype(np.int16))
    return folder


@pytest.fixture(scope='module')
def given(folder):
    data = f'--config.data.path={folder}', '--config.data.classes=2', '--config.data.context_length=20'
    return f'--config={EXPERIMENTS}/audio/wav.py', *SHORT, *data


@pytest.fixture(scope='module')
def trained(runner, given, tmp_path_factory):
    workdir = tmp_path_factory.mktemp('runs') / 'sounds'
    done = runner.run('train', *given, f'--workdir={workdir}')
    assert done.returncode == 0, done.stderr
    assert 'launch/predict.py --sound=sound.wav' in done.stdout
    return workdir


def losses(workdir):
    return [line['loss'] for line in read(workdir / 'metrics.jsonl') if line['split'] == 'train']


def test_it_resumes_to_the_same_losses(trained, runner, given, tmp_path):
    again = shutil.copytree(trained, tmp_path / 'again')
    shutil.rmtree(again / 'checkpoints/4')
    resumed = runner.run('train', *given, f'--workdir={again}')
    assert 'from step 2' in resumed.stdout, resumed.stderr
    assert losses(again) == losses(trained)


def test_it_is_evaluated_and_asked(trained, runner, folder):
    found = runner.run('evaluate', f'--workdir={trained}', '--json')
    last = [line for line in read(trained / 'metrics.jsonl') if line['split'] == 'validation'][-1]
    assert json.loads(found.stdout)['loss'] == pytest.approx(last['loss'], rel=1e-5)
    asked = runner.run('predict', f'--workdir={trained}', f'--sound={folder}/low/1.wav', '--json')
    assert asked.returncode == 0, asked.stderr
    assert json.loads(asked.stdout)['probabilities'].keys() == {'high', 'low'}


def test_a_sound_of_another_rate_is_refused_in_one_line(trained, runner, tmp_path):
    scipy.io.wavfile.write(tmp_path / 'a.wav', 8000, np.zeros(2000, np.int16))
    asked = runner.run('predict', f'--workdir={trained}', f'--sound={tmp_path}/a.wav')
    assert asked.returncode == 2
    assert 'a.wav: has 8000 samples per second, but data.rate is 16000' in asked.stderr
    assert len(asked.stderr.splitlines()) == 1


def test_chirps_are_trained_on(runner, tmp_path):
    small = '--config.data.train=16', '--config.data.validation=8'
    config = f'--config={EXPERIMENTS}/audio/chirps.py'
    done = runner.run('train', config, *SHORT, *small, f'--workdir={tmp_path}/run')
    assert done.returncode == 0, done.stderr
