# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Folders that name code to execute: opening one executes nothing, and says so in one line."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from refused import assert_refused

from saccade.trust import VARIABLE

# Imported from the working directory, each module leaves a file behind; so does what they define.
EVIL = """
import os, pathlib
pathlib.Path('executed').touch()
def mine(*args, **kwargs):
    pathlib.Path('executed').touch()
class Mine:
    def __init__(self, *args, **kwargs):
        pathlib.Path('executed').touch()
"""
IMPORTED = ('evil', 'tensorflow', 'torch', 'wandb', 'cloudpickle', 'sitecustomize', 'usercustomize')
SYSTEM = {'use': 'os:system', 'command': 'touch executed'}
MINE = {'use': 'evil:Mine'}
HOSTILE = {
    'model': SYSTEM,
    'task': SYSTEM,
    'data': SYSTEM,
    'low_rank': SYSTEM,
    'adapt': SYSTEM,
    'sample': SYSTEM,
    'baseline': SYSTEM,
    'optimizer': SYSTEM,
    'optimizer.rule': SYSTEM,
    'optimizer.rates': [SYSTEM],
    'schedule': SYSTEM,
    'data.tokenizer': MINE,
    'data.pack': MINE,
    'task.search': {'use': 'subprocess:run', 'args': ['touch', 'executed']},
    'model.norm': MINE,
    'model.embedding_init': {'use': 'builtins:exec', 'source': 'open("executed", "w")'},
    'model.block.mixer': {'use': 'evil:mine'},
    'model.block.mixer.mask': SYSTEM,
    'model.block.mixer.kernel': {
        'use': 'train.config_file:run_file',
        'flag': 'a',
        'path': 'evil.py',
        'function': 'mine',
    },
    'model.block.mixer.position': {'use': 'train.workdir:write_atomically', 'path': 'executed', 'content': ''},
    'model.block.feedforward.activation': {'use': 'jax.numpy:save', 'file': 'executed'},
    'model.block.feedforward.up': {'use': 'saccade.data.corpus.prepare:prepare'},
    'model.block': [{'use': 'block.base:evil'}, {'use': 'evil.deep:Mine'}],
}
TEXTS = Path(__file__).parents[2] / 'docs/results/costs.csv'  # any file with columns
OPENING = {
    'evaluate': (),
    'generate': ('--prompt=the',),
    'inside': (),
    'params': (),
    'translate': ('--text=the',),
    'fill_mask': ('--text=the [MASK]',),
    'embed': ('--text=the', '--text=a'),
    'search': (f'--corpus={__file__}', '--query=a'),
    'predict': ('--text=the',),
    'decompose': (),
    'probe': (f'--data={TEXTS}', '--text=layer', '--label=length'),
}


@pytest.fixture
def hostile(runner, finished, tmp_path):
    """Make a run whose config has something else in one field; and a runner in a folder of modules that tell."""
    for name in IMPORTED:
        (tmp_path / f'{name}.py').write_text(EVIL)
    environment = {key: value for key, value in runner.environment.items() if key != VARIABLE}
    elsewhere = replace(runner, folder=tmp_path, environment=environment)

    def make(field, spec):
        run = tmp_path / 'run'
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(finished, run, copy_function=os.link)
        config = json.loads((finished / 'config.json').read_text())
        *parents, name = field.split('.')
        place = config
        for parent in parents:
            place = place[parent]
        place[name] = spec
        (run / 'config.json').unlink()
        (run / 'config.json').write_text(json.dumps(config))
        return elsewhere, run

    return make


def assert_refused_unexecuted(done, runner, run, words=''):
    assert_refused(done, words)
    assert str(run) in done.stderr
    assert not (runner.folder / 'executed').exists(), done.args


@pytest.mark.long
@pytest.mark.parametrize('script', OPENING)
def test_no_launcher_executes_what_a_run_names(hostile, script):
    elsewhere, run = hostile('model', MINE)
    done = elsewhere.run(script, f'--workdir={run}', *OPENING[script])
    assert_refused_unexecuted(done, elsewhere, run, 'add --trust=evil')


@pytest.mark.long
def test_training_from_weights_of_a_run_executes_nothing(hostile):
    elsewhere, run = hostile('model.norm', SYSTEM)
    for further in ((), ('--config.inherit=model',)):
        done = elsewhere.train(elsewhere.folder / 'new', f'--config.init_from={run}', *further)
        assert done.returncode == 2
        assert done.stderr.startswith('error: ')
        assert len(done.stderr.splitlines()) == 1
        assert 'model.norm.use' in done.stderr
        assert not (elsewhere.folder / 'executed').exists()


@pytest.mark.long
def test_a_report_imports_nothing_that_a_run_names(hostile):
    elsewhere, run = hostile('model.norm', MINE)
    done = elsewhere.run('report', f'--workdir={run.parent}')
    assert done.returncode == 0, done.stderr
    assert not (elsewhere.folder / 'executed').exists()


@pytest.mark.long
def test_a_trusted_module_is_imported_from_the_working_directory(hostile):
    elsewhere, run = hostile('model.norm', {'use': 'my_norms:Mine'})
    (elsewhere.folder / 'my_norms.py').write_text(
        'from saccade.norm.rms import RMSNorm\n\n\nclass Mine(RMSNorm): ...\n'
    )
    asked = ('params', f'--workdir={run}', '--json')
    assert_refused(elsewhere.run(*asked), '--trust=my_norms')
    done = elsewhere.run(*asked, '--trust=my_norms')
    assert done.returncode == 0, done.stderr
    by_variable = replace(elsewhere, environment={**elsewhere.environment, VARIABLE: 'my_norms'})
    assert by_variable.run(*asked).stdout == done.stdout


@pytest.mark.long
@pytest.mark.parametrize('field', HOSTILE)
def test_no_field_of_a_config_is_executed(hostile, field):
    elsewhere, run = hostile(field, HOSTILE[field])
    for script in OPENING:
        done = elsewhere.run(script, f'--workdir={run}', *OPENING[script])
        assert_refused_unexecuted(done, elsewhere, run, field)


@pytest.mark.long
def test_the_sinks_of_a_run_are_not_opened_with_it(hostile):
    elsewhere, run = hostile('logging', [SYSTEM, MINE])
    done = elsewhere.run('evaluate', f'--workdir={run}', '--json')
    assert done.returncode == 0, done.stderr
    assert not (elsewhere.folder / 'executed').exists()
