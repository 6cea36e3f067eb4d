# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A run on images from the command line: trained, resumed, evaluated, asked; on eight devices too."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from saccade.train.log.log import read

EXPERIMENTS = Path(__file__).parents[2] / 'experiments'
DEVICES_RELATIVE = 1e-5
CLASSES = ('dark', 'light', 'striped')
SMALL = (
    f'--config={EXPERIMENTS}/vision/vit.py',
    '--config.data.classes=3',
    '--config.data.size=(16,16)',
    '--config.data.resize=16',
    '--config.data.validation=0.2',
    '--config.model.embed.embed.patch=8',
    '--config.model.position.rows=2',
    '--config.model.position.columns=2',
    '--config.model.context_length=5',
    '--config.model.width=12',
    '--config.model.layers=1',
    '--config.dtype=float32',
    '--config.batch_size=16',
    '--config.steps=4',
    '--config.log_every=1',
    '--config.eval_every=2',
    '--config.checkpoint_every=2',
)

pytestmark = pytest.mark.long


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    folder, draw = tmp_path_factory.mktemp('images'), np.random.default_rng(0)
    for name in CLASSES:
        (folder / name).mkdir()
        for number in range(10):
            pixels = draw.integers(0, 100, (20, 24, 3)) + 120 * (name == 'light')
            pixels[::2] += 100 * (name == 'striped')
            Image.fromarray(pixels.astype(np.uint8)).save(folder / name / f'{number}.png')
    return folder


@pytest.fixture(scope='module')
def small(folder):
    return (*SMALL, f'--config.data.path={folder}')


@pytest.fixture(scope='module')
def trained(runner, small, tmp_path_factory):
    workdir = tmp_path_factory.mktemp('vision') / 'run'
    first = runner.run('train', *small, f'--workdir={workdir}')
    assert first.returncode == 0, first.stderr
    return workdir, first.stdout


def losses(workdir):
    return [line['loss'] for line in read(workdir / 'metrics.jsonl') if line['split'] == 'train']


def test_it_resumes_to_the_same_losses(trained, runner, small, tmp_path):
    workdir, said = trained
    assert 'launch/predict.py --image=image.png' in said
    assert 'a step      80 tokens' in said  # 16 images of 5 places
    again = shutil.copytree(workdir, tmp_path / 'again')
    shutil.rmtree(again / 'checkpoints/4')
    resumed = runner.run('train', *small, f'--workdir={again}')
    assert 'from step 2' in resumed.stdout, resumed.stderr
    assert losses(again) == losses(workdir)


def test_it_is_evaluated_looked_into_and_asked(trained, runner, folder, tmp_path):
    workdir, _ = trained
    found = runner.run('evaluate', f'--workdir={workdir}', '--json')
    last = [line for line in read(workdir / 'metrics.jsonl') if line['split'] == 'validation'][-1]
    assert json.loads(found.stdout)['loss'] == pytest.approx(last['loss'], rel=DEVICES_RELATIVE)
    assert runner.run('inside', f'--workdir={workdir}').returncode == 0
    drawn = runner.run('inside', f'--workdir={workdir}', f'--picture={tmp_path / "map.png"}')
    assert drawn.returncode == 0, drawn.stderr
    with Image.open(tmp_path / 'map.png') as picture:
        assert min(picture.size) > 100
    images = [folder / 'dark/1.png', folder / 'light/2.png']
    said = runner.run('predict', f'--workdir={workdir}', *(f'--image={image}' for image in images), '--json')
    answers = list(map(json.loads, said.stdout.splitlines()))
    assert [answer['image'] for answer in answers] == list(map(str, images))
    assert all(answer['probabilities'].keys() == {*CLASSES} for answer in answers)
    Image.open(images[0]).convert('LA').save(tmp_path / 'grey.png')  # which this run converts
    assert runner.run('predict', f'--workdir={workdir}', f'--image={tmp_path}/grey.png').returncode == 0
    refused = runner.run('predict', f'--workdir={workdir}', f'--image={tmp_path}/none.png')
    assert (refused.returncode, refused.stderr) == (2, f'error: {tmp_path}/none.png: there is no such file\n')


def test_eight_devices_learn_the_same(trained, runner, small, tmp_path):
    mesh = ('--config.mesh.fsdp=2', '--config.mesh.tensor=2')
    done = runner.run('train', *small, *mesh, f'--workdir={tmp_path / "run"}', devices=8)
    assert done.returncode == 0, done.stderr
    assert losses(tmp_path / 'run') == pytest.approx(losses(trained[0]), rel=DEVICES_RELATIVE)


def test_patches_that_do_not_divide_the_image_are_refused(runner, small, tmp_path):
    refused = runner.run('train', *small, '--config.model.embed.embed.patch=5', f'--workdir={tmp_path / "run"}')
    assert (refused.returncode, refused.stderr.count('\n')) == (2, 1)
    assert 'patches of 5 pixels do not divide images of 16 by 16' in refused.stderr
