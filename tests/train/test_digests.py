# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What a run keeps of its tokenizer and its data, and what it says when they are not there as they were."""

import json
import os
from pathlib import Path

import pytest

from saccade.data.corpus import pydocs
from saccade.train.config import load_config
from saccade.train.digests import keep, prepare_again, require_same_data, verified
from saccade.train.experiment import Experiment, cache_folder
from saccade.train.trained import verified_folder
from saccade.train.workdir import Workdir
from saccade.types import UserError

CONFIG = str(Path(__file__).parents[2] / 'experiments/causal_lm/quickstart.py')
TEXT = 'the model reads a token and writes another token after every word of this text. ' * 60


@pytest.fixture
def text(tmp_path):
    folder = tmp_path / 'texts'
    folder.mkdir()
    for name in ('train', 'validation'):
        (folder / f'{name}.txt').write_text(f'{name} {TEXT}')
    return folder


@pytest.fixture
def config(text):
    return load_config(CONFIG, [f'--config.data.path={text}', '--config.data.context_length=16'])


@pytest.fixture
def start(config, tmp_path, monkeypatch):
    """A function that starts the run, or starts it again, as training does before its first step."""
    monkeypatch.setenv('SACCADE_CACHE', str(tmp_path / 'cache'))

    def start():
        workdir, experiment = Workdir.open(tmp_path / 'run', config), Experiment.of(config)
        data = experiment.data()
        prepared = data.prepare(cache_folder(), data.open_processor(verified(workdir)))
        require_same_data(workdir, experiment, prepared)
        keep(workdir, prepared)
        return workdir

    return start


def refused(call, *arguments):
    with pytest.raises(UserError) as refusal:
        call(*arguments)
    assert '\n' not in str(refusal.value)
    return str(refusal.value)


def swap_two_ids(path):
    content = json.loads(path.read_text())
    ids = content['model']['vocab']
    ids['a'], ids['b'] = ids['b'], ids['a']
    path.write_text(json.dumps(content))


def test_a_run_keeps_digests_and_starts_again_on_the_same_tokenizer_and_data(start, caplog):
    path = start().path / 'digests.json'
    before = path.read_bytes(), path.stat().st_mtime_ns
    assert json.loads(before[0])['data']['train examples'] == 1
    start()
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert not caplog.messages


@pytest.mark.parametrize(
    ('alter', 'words'),
    [
        (swap_two_ids, 'is not the one that the run was trained with'),
        (lambda path: path.write_text(path.read_text()[:-9]), 'is not the one that the run was trained with'),
        (lambda path: path.write_text(''), 'is not the one that the run was trained with'),
        (lambda path: path.unlink(), 'is missing'),
        (lambda path: path.rename(path.with_name('a.json')), 'is missing'),
    ],
)
def test_another_tokenizer_is_refused_by_all_who_use_it(start, config, alter, words):
    workdir = start()
    workdir.checkpoints.mkdir()
    tokenizer = workdir.path / 'tokenizer.json'
    alter(tokenizer)
    said = f'{tokenizer}: {words}: put back the file that training wrote'
    assert refused(start) == said
    assert refused(prepare_again, workdir, Experiment.of(config)) == said
    assert refused(verified_folder, str(workdir.path)) == said


def test_a_second_tokenizer_is_refused_where_there_was_one(start):
    workdir = start()
    (workdir.path / 'source_tokenizer.json').write_bytes((workdir.path / 'tokenizer.json').read_bytes())
    assert 'source_tokenizer.json: is not the one that the run was trained with' in refused(start)


def unnamed(folder):
    """Give the files of a folder names that tell no split."""
    for split, name in (('train', 'first'), ('validation', 'second')):
        (folder / f'{split}.txt').rename(folder / f'{name}.txt')


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        (lambda folder: (folder / 'train.txt').write_text(TEXT), 'is equal, but their content differs'),
        (lambda folder: (folder / 'test.txt').write_text(TEXT), 'test examples: none then, 1 now'),
        (unnamed, 'their content differs'),  # one of the two is drawn for validation
    ],
)
def test_other_data_are_refused_to_train_on_and_told_to_look_at(start, config, text, caplog, change, words):
    workdir = start()
    change(text)
    said = refused(start)
    assert f'{workdir.path}: the data (path={text}) are not those that the run was trained on' in said
    assert words in said
    assert said.endswith('restore them to resume, or train in another folder')
    prepare_again(workdir, Experiment.of(config))
    assert words in caplog.text
    assert 'the present data are used' in caplog.text


def test_data_that_are_restored_are_the_same(start, text):
    start()
    content = (text / 'train.txt').read_bytes()
    (text / 'train.txt').write_text(TEXT)
    refused(start)
    (text / 'train.txt').write_bytes(content)
    start()


def test_versions_that_changed_with_the_data_are_told(start, config):
    workdir = start()
    path = workdir.path / 'digests.json'
    content = json.loads(path.read_text())
    content['data'] |= {'digest': 'another', **pydocs.versions(), 'Python': '3.9.1'}
    path.write_text(json.dumps(content))
    assert 'Python: 3.9.1 then, none now' in refused(start)
    assert {'Python', 'jax', 'numpy'} <= pydocs.versions().keys()


def test_a_run_of_before_there_were_digests_gets_them_and_that_is_said(start, config, caplog):
    workdir = start()
    (workdir.path / 'digests.json').unlink()
    prepare_again(workdir, Experiment.of(config))
    assert not caplog.messages
    start()
    assert len(caplog.messages) == 1
    assert 'was missing and is written now' in caplog.text
    assert (workdir.path / 'digests.json').exists()


@pytest.mark.parametrize('content', ['', '[]', '{"tokenizer": {}}', '[' * 100_000, '{"tokenizer": 1, "data": {}}'])
def test_digests_that_cannot_be_read_is_one_line(start, content):
    workdir = start()
    (workdir.path / 'digests.json').write_text(content)
    said = refused(start)
    assert 'digests.json: cannot be read' in said
    assert 'delete it, and the next start writes it again' in said


def test_a_path_that_is_not_unicode_is_refused(text):
    path = os.fsdecode(os.fsencode(text) + b'\xff')
    assert 'config.data.path:' in refused(lambda: Experiment.of(load_config(CONFIG, [f'--config.data.path={path}'])))
