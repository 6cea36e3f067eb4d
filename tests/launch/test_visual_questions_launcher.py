# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A run on questions about images from the command line: trained, resumed, evaluated, asked; on eight devices too."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from saccade.train.log.log import read

EXPERIMENTS = Path(__file__).parents[2] / 'experiments/vision'
DEVICES_RELATIVE = 1e-5
CONTEXT = 'violet, sky blue, brick red'
SMALL = (
    '--config.model.width=16',
    '--config.model.layers=1',
    '--config.model.block.mixer.heads=2',
    '--config.batch_size=16',
    '--config.steps=4',
    '--config.log_every=1',
    '--config.eval_every=2',
    '--config.checkpoint_every=2',
)
DRAWN = (
    f'--config={EXPERIMENTS}/questions.py',
    *SMALL,
    '--config.data.train=64',
    '--config.data.validation=24',
)

pytestmark = pytest.mark.long


@pytest.fixture(scope='module')
def trained(runner, tmp_path_factory):
    workdir = tmp_path_factory.mktemp('vqa') / 'run'
    first = runner.run('train', *DRAWN, f'--workdir={workdir}')
    assert first.returncode == 0, first.stderr
    return workdir, first.stdout


@pytest.fixture(scope='module')
def picture(tmp_path_factory):
    path = tmp_path_factory.mktemp('pictures') / 'a.png'
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (16, 16, 3), dtype=np.uint8)).save(path)
    return path


def losses(workdir):
    return [line['loss'] for line in read(workdir / 'metrics.jsonl') if line['split'] == 'train']


def test_it_resumes_to_the_same_losses(trained, runner, tmp_path):
    workdir, said = trained
    assert 'a step      512 tokens' in said  # 16 rows of 4 patches and 28 tokens
    assert 'exact match' in said
    assert {path.name for path in workdir.iterdir()} >= {'tokenizer.json', 'processor.json'}
    again = shutil.copytree(workdir, tmp_path / 'again')
    shutil.rmtree(again / 'checkpoints/4')
    resumed = runner.run('train', *DRAWN, f'--workdir={again}')
    assert 'from step 2' in resumed.stdout, resumed.stderr
    assert losses(again) == losses(workdir)


def test_it_is_evaluated_and_asked(trained, runner, picture):
    workdir, _ = trained
    found = runner.run('evaluate', f'--workdir={workdir}', '--json')
    last = [line for line in read(workdir / 'metrics.jsonl') if line['split'] == 'validation'][-1]
    assert json.loads(found.stdout)['loss'] == pytest.approx(last['loss'], rel=DEVICES_RELATIVE)
    asked = ('--question=What colour is the cross on the left?', f'--context={CONTEXT}', '--json')
    answered = runner.run('predict', f'--workdir={workdir}', f'--image={picture}', *asked)
    assert answered.returncode == 0, answered.stderr
    answer = json.loads(answered.stdout)
    assert answer['image'] == str(picture)
    assert CONTEXT[answer['start'] : answer['stop']] == answer['answer'] != ''
    refused = runner.run('predict', f'--workdir={workdir}', f'--image={picture}.none', *asked)
    assert (refused.returncode, refused.stderr) == (2, f'error: {picture}.none: there is no such file\n')


def test_eight_devices_learn_the_same(trained, runner, tmp_path):
    mesh = ('--config.mesh.fsdp=2', '--config.mesh.tensor=2')
    done = runner.run('train', *DRAWN, *mesh, f'--workdir={tmp_path / "run"}', devices=8)
    assert done.returncode == 0, done.stderr
    assert losses(tmp_path / 'run') == pytest.approx(losses(trained[0]), rel=DEVICES_RELATIVE)


def test_questions_about_images_of_ones_own_are_learned_and_asked(runner, picture, tmp_path):
    folder = tmp_path / 'mine'
    folder.mkdir()
    for number in range(6):
        shutil.copy(picture, folder / f'{number}.png')
    records = [
        dict(image=f'{number % 6}.png', question=f'what is at {number}?', context='a hat or a cat', answer='a cat')
        for number in range(30)
    ]
    (folder / 'questions.jsonl').write_text('\n'.join(map(json.dumps, records)))
    small = (*SMALL, '--config.data.images.size=(32,32)', '--config.data.images.resize=32', '--config.batch_size=4')
    sizes = ('--config.model.vocabulary=64', '--config.model.context_length=132')
    grid = ('--config.model.embed.image_position.rows=2', '--config.model.embed.image_position.columns=2')
    arguments = (f'--config={EXPERIMENTS}/question_files.py', *small, *sizes, *grid, '--config.steps=2')
    path = f'--config.data.path={folder}/questions.jsonl'
    done = runner.run('train', *arguments, path, f'--workdir={tmp_path}/run')
    assert done.returncode == 0, done.stderr
    asked = runner.run('predict', f'--workdir={tmp_path}/run', f'--file={folder}/questions.jsonl', '--json')
    assert len(asked.stdout.splitlines()) == 30, asked.stderr
    (folder / 'questions.jsonl').write_text('\n'.join(map(json.dumps, [*records, records[0] | {'answer': 'a dog'}])))
    refused = runner.run('train', *arguments, path, f'--workdir={tmp_path}/other')
    assert (refused.returncode, refused.stderr.count('\n')) == (2, 1)
    assert "questions.jsonl, line 31: the answer 'a dog' is not in the context" in refused.stderr
