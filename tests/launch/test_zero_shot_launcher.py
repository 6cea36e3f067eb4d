# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A run on images and captions from the command line: trained, resumed, evaluated, asked; on eight devices too."""

import json
import os
import shutil
from pathlib import Path

import forked
import numpy as np
import pytest
from PIL import Image

import saccade
from saccade.train.log.log import read

ROOT = Path(__file__).parents[2]
SAME_NUMBERS = 1e-5  # relative difference, of losses that are the same but for the order of sums
SMALL = (
    '--config.data.train=64',
    '--config.data.validation=10',
    '--config.data.unseen=12',
    '--config.model.image.width=12',
    '--config.model.image.layers=1',
    '--config.model.text.width=8',
    '--config.model.text.layers=1',
    '--config.batch_size=16',
    '--config.steps=4',
    '--config.log_every=1',
    '--config.eval_every=2',
    '--config.checkpoint_every=2',
)
RUNS = {
    'clip': ('clip', ()),
    'siglip': ('siglip', ()),
    'siglip in chunks': ('siglip', ('--config.task.chunk=2',)),
}

pytestmark = pytest.mark.long


def given(name):
    experiment, own = RUNS[name]
    return [str(ROOT / f'experiments/pairs/{experiment}.py'), *SMALL, *own]


@pytest.fixture(scope='module')
def run(runner, tmp_path_factory):
    workdir = tmp_path_factory.mktemp('runs') / 'clip'
    config, *overrides = given('clip')
    done = runner.run('train', f'--config={config}', f'--workdir={workdir}', *overrides)
    assert done.returncode == 0, done.stderr
    assert 'launch/zero_shot.py --split=validation' in done.stdout
    return workdir


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp('images')
    for name, colour in {'a red square': (220, 40, 40), 'a blue square': (50, 80, 220)}.items():
        (folder / name).mkdir()
        for number in range(3):
            Image.fromarray(np.full((40, 50, 3), colour, np.uint8)).save(folder / name / f'{number}.png')
    return folder


def losses(workdir):
    return [line['loss'] for line in read(workdir / 'metrics.jsonl') if line['split'] == 'train']


def test_it_resumes_to_the_same_losses_and_is_evaluated(run, runner, tmp_path):
    again = shutil.copytree(run, tmp_path / 'again')
    shutil.rmtree(again / 'checkpoints/4')
    config, *overrides = given('clip')
    resumed = runner.run('train', f'--config={config}', f'--workdir={again}', *overrides)
    assert 'from step 2' in resumed.stdout, resumed.stderr
    assert losses(again) == losses(run)
    shown = runner.run('evaluate', f'--workdir={run}', '--json')
    found = json.loads(shown.stdout)
    assert {'image_to_text_recall_at_1', 'text_to_image_mrr'} <= found['intervals'].keys()


def test_classes_of_siglip_have_probabilities_of_their_own(runner, folder, tmp_path):
    config, *overrides = given('siglip')
    done = runner.run('train', f'--config={config}', f'--workdir={tmp_path}', *overrides)
    assert done.returncode == 0, done.stderr
    image, found = folder / 'a red square/0.png', []
    for classes in ('a red square', 'a red square,a blue circle'):
        done = runner.run('zero_shot', f'--workdir={tmp_path}', f'--image={image}', f'--classes={classes}', '--json')
        found.append(json.loads(done.stdout)['classes']['a red square'])
    assert 0 < found[0] < 1
    assert found[1] == pytest.approx(found[0], abs=1e-5)


def test_vectors_of_images_and_texts_classify_as_the_launcher_does(run, runner, folder):
    image, classes = folder / 'a red square/0.png', ['a red square', 'a blue circle']
    done = runner.run('zero_shot', f'--workdir={run}', f'--image={image}', f'--classes={",".join(classes)}', '--json')
    model = saccade.load(str(run))
    images, texts = model.encode_images([str(image)]), model.encode(classes)
    np.testing.assert_allclose(np.linalg.norm(texts, axis=-1), 1, rtol=1e-5)
    scale, _ = model.model.apply({'params': model.params}, method='logit_line')
    logits = float(scale) * images @ texts.T
    shares = np.exp(logits[0]) / np.exp(logits[0]).sum()
    assert json.loads(done.stdout)['classes'] == pytest.approx(dict(zip(classes, shares, strict=True)), abs=1e-4)


def test_names_given_for_folders_are_shown_next_to_them(run, runner, folder):
    flags = f'--workdir={run}', f'--folder={folder}', '--classes=one,two', '--template={}'
    done = runner.run('zero_shot', *flags)
    assert done.returncode == 0, done.stderr
    assert 'in their order: a blue square: one, a red square: two' in done.stderr


def test_images_are_classified_by_names_alone(run, runner, folder):
    image = folder / 'a red square/0.png'
    flags = f'--workdir={run}', '--classes=a red square,a blue circle', '--template={}', '--template=a picture of {}'
    done = runner.run('zero_shot', *flags, f'--image={image}', '--json')
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found['classes'].keys() == {'a red square', 'a blue circle'}
    assert sum(found['classes'].values()) == pytest.approx(1.0)
    done = runner.run('zero_shot', *flags, f'--image={image}', '--json', '--dtype=bfloat16')
    coarse = json.loads(done.stdout)
    assert coarse['classes'] != found['classes']
    assert coarse['classes'] == pytest.approx(found['classes'], abs=0.05)
    shown = runner.run('zero_shot', *flags, f'--image={image}', '--top=1')
    assert shown.stdout.startswith(f'{image}  {next(iter(found["classes"]))} 0.')


def test_accuracy_is_measured_on_folders_and_splits(run, runner, folder):
    done = runner.run('zero_shot', f'--workdir={run}', f'--folder={folder}', '--json')
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)['images'] == 6
    split = runner.run('zero_shot', f'--workdir={run}', '--split=unseen')
    assert 'images of 24 classes, chance 0.0417' in split.stdout, split.stderr


@pytest.mark.parametrize(
    ('flags', 'words'),
    [
        (('--image=a.png',), 'give --classes='),
        ((), 'give one of --image=FILE'),
        (('--image=none.png', '--classes=a,b'), 'none.png: there is no such file'),
        (('--image={text}', '--classes=a,b'), 'is not an image in one of the formats'),
        (('--image={text}', '--classes=a,a'), 'each once'),
        (('--image={text}', '--classes=a,b', '--template=a photo'), "'a photo' has no {}"),
        (('--split=none',), 'no such split; they have train, validation, unseen'),
        (('--split=validation', '--classes=a,b'), '2 names given, but there are 24 classes'),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_line(run, runner, flags, words):
    flags = (flag.replace('{text}', str(runner.text)) for flag in flags)
    done = runner.run('zero_shot', f'--workdir={run}', *flags)
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize('name', RUNS)
def test_eight_devices_give_the_losses_of_one(runner, tmp_path, name):
    flags = f'{os.environ["XLA_FLAGS"]} --xla_force_host_platform_device_count=8'
    output = [tmp_path / 'out', tmp_path / 'err']
    arguments = [str(ROOT / 'tests/launch/contrastive.py'), *given(name)]
    status = forked.run(arguments, runner.folder, {**runner.environment, 'XLA_FLAGS': flags}, output)
    assert status == 0, output[1].read_text()
    one, mesh, replicas = json.loads(output[0].read_text())
    assert mesh == pytest.approx(one, rel=SAME_NUMBERS)
    assert replicas == pytest.approx(one, rel=SAME_NUMBERS)
    assert len(set(one)) == len(one)
