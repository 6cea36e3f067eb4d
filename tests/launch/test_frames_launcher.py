# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A run of frames, which has no tokenizer, from the command line: trained, resumed, evaluated; on eight devices too."""

import json
import shutil
from pathlib import Path

import pytest

from saccade.train.log.log import read

EXPERIMENTS = Path(__file__).parents[2] / 'experiments'
DEVICES_RELATIVE = 1e-5
SMALL = (
    f'--config={EXPERIMENTS}/audio/tones.py',
    '--config.model.width=16',
    '--config.model.layers=1',
    '--config.batch_size=8',
    '--config.data.train=64',
    '--config.data.validation=24',
    '--config.steps=4',
    '--config.log_every=1',
    '--config.eval_every=2',
    '--config.checkpoint_every=2',
    '--config.schedule.warmup=1',
)

pytestmark = pytest.mark.long


@pytest.fixture(scope='module')
def trained(runner, tmp_path_factory):
    workdir = tmp_path_factory.mktemp('frames') / 'run'
    first = runner.run('train', *SMALL, f'--workdir={workdir}')
    assert first.returncode == 0, first.stderr
    return workdir, first.stdout


def losses(workdir):
    return [line['loss'] for line in read(workdir / 'metrics.jsonl') if line['split'] == 'train']


def test_its_processor_is_kept_and_resumed_with(trained, runner, tmp_path):
    workdir, said = trained
    assert 'launch/predict.py' not in said  # which predicts of texts
    assert not list(workdir.glob('*tokenizer*'))
    assert set(json.loads((workdir / 'digests.json').read_text())['processor']) == {'processor.json', 'classes.json'}
    again = shutil.copytree(workdir, tmp_path / 'again')
    shutil.rmtree(again / 'checkpoints/4')
    resumed = runner.run('train', *SMALL, f'--workdir={again}')
    assert 'from step 2' in resumed.stdout, resumed.stderr
    assert losses(again) == losses(workdir)
    (again / 'processor.json').write_text('{"mean": [0], "deviation": [1]}')
    refused = runner.run('evaluate', f'--workdir={again}')
    assert refused.stderr.strip().endswith(
        'processor.json: is not the one that the run was trained with: put back the file that training wrote'
    )


def test_it_is_evaluated_and_looked_into(trained, runner):
    workdir, _ = trained
    found = runner.run('evaluate', f'--workdir={workdir}', '--json')
    last = [line for line in read(workdir / 'metrics.jsonl') if line['split'] == 'validation'][-1]
    assert json.loads(found.stdout)['loss'] == pytest.approx(last['loss'], rel=DEVICES_RELATIVE)
    assert runner.run('inside', f'--workdir={workdir}').returncode == 0


@pytest.mark.parametrize(
    ('launcher', 'flag', 'message'),
    [
        ('embed', '--text=a', 'reads frames in this run, and has no tokenizer for text'),
        ('predict', '--text=a', 'data.synthetic.tones:Tones, does not support predictions for new examples'),
        ('generate', '--prompt=a', 'reads frames in this run, and has no tokenizer for text'),
    ],
)
def test_what_is_for_text_refuses_it(trained, runner, launcher, flag, message):
    refused = runner.run(launcher, f'--workdir={trained[0]}', flag)
    assert (refused.returncode, refused.stderr.count('\n')) == (2, 1)
    assert message in refused.stderr


def test_eight_devices_learn_the_same(trained, runner, tmp_path):
    mesh = ('--config.mesh.fsdp=2', '--config.mesh.tensor=2')
    done = runner.run('train', *SMALL, *mesh, f'--workdir={tmp_path / "run"}', devices=8)
    assert done.returncode == 0, done.stderr
    assert losses(tmp_path / 'run') == pytest.approx(losses(trained[0]), rel=DEVICES_RELATIVE)


@pytest.mark.parametrize(
    ('experiment', 'override', 'message'),
    [
        (
            'audio/tones.py',
            "--config.model.embed={'use': 'embed.token:TokenEmbedding'}",
            'model.encoder:Encoder embeds tokens from a batch; config.data, data.synthetic.tones:Tones, gives frames',
        ),
        (
            'finetune/sort.py',
            "--config.model.embed={'use': 'embed.frame:FrameEmbedding'}",
            'model.encoder:Encoder embeds frames from a batch; config.data, data.synthetic.sorting:Sorting',
        ),
        ('finetune/sort.py', '--config.model.vocabulary=None', 'config.model.vocabulary'),
    ],
)
def test_a_model_that_embeds_something_else_is_refused(runner, tmp_path, experiment, override, message):
    refused = runner.run('train', f'--config={EXPERIMENTS}/{experiment}', override, f'--workdir={tmp_path / "run"}')
    assert (refused.returncode, refused.stderr.count('\n')) == (2, 1)
    assert message in refused.stderr
    assert not (tmp_path / 'run').exists()
