# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Which names the config of somebody else's run may hold."""

import importlib
import re
from pathlib import Path

import pytest

from saccade.trust import NAMES, ROOMS, VARIABLE, foreign, require_trusted, trust
from saccade.types import UserError

ROOT = Path(__file__).parents[1]
SHIPPED = sorted(
    {
        use
        for file in [ROOT / 'README.md', *(ROOT / 'experiments').rglob('*.py')]
        for use in re.findall(r"""['"]?use['"]?[=:] ?['"]([\w.]+:\w+)['"]""", file.read_text())
    }
)
HOSTILE = (
    'os:system',
    'builtins:exec',
    'subprocess:run',
    'my_lab.mine:Mine',
    'jax:pure_callback',
    'jax.numpy:save',
    'jax.experimental:io_callback',
    'optax:inject_hyperparams',
    'flax.linen:Module',
    'train.config:run_file',
    'train.workdir:write_atomically',
    'data.corpus.prepare:prepare',
    'data.corpus.text_dataset:TextFiles',
    'build:load',
    'saccade.build:load',
    'hub.load:load',
    'analysis.studies.five_steps:build',
    'attention.base:nn',  # imported there, not defined there
    'ops.flops:_count',
    'ops.no_such_file:system',
    'ops..mask:Causal',
    '../ops.mask:Causal',
    'ops/mask:Causal',
    'ops.mask:Causal.__init__',
    'ops.mask:',
    ':system',
    '',
)


@pytest.fixture(autouse=True)
def nothing_trusted(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)


@pytest.mark.parametrize('use', SHIPPED)
def test_every_part_that_ships_may_be_named(use):
    if not use.startswith('my_'):
        require_trusted({'model': {'use': use}}, 'config.json')


@pytest.mark.parametrize('use', HOSTILE)
def test_everything_else_is_refused_before_it_is_imported(use):
    with pytest.raises(UserError, match=r'^config\.json: model\.mask\.use: '):
        require_trusted({'model': {'use': 'model.decoder:Decoder', 'mask': {'use': use}}}, 'config.json')


@pytest.mark.parametrize('use', [['os:system'], {'use': 'os:system'}, 3, None])
def test_a_name_that_is_no_text_is_refused(use):
    with pytest.raises(UserError, match='use: '):
        require_trusted({'task': [{'use': use}]}, 'config.json')


def test_the_field_the_name_and_the_flag_are_said():
    with pytest.raises(
        UserError, match=r"model\.block\.0\.mixer\.use: 'my_lab\.mine:Mine' .* add --trust=my_lab\.mine:Mine$"
    ):
        require_trusted({'model': {'block': [{'mixer': {'use': 'my_lab.mine:Mine'}}]}}, 'runs/a/config.json')


def test_all_foreign_names_are_said_at_once():
    config = {'model': {'use': 'my_lab.mine:Mine'}, 'task': {'use': 'others:Task', 'norm': {'use': 'my_lab.mine:Mine'}}}
    with pytest.raises(UserError) as refusal:
        require_trusted(config, 'config.json')
    assert str(refusal.value) == (
        "config.json: model.use: 'my_lab.mine:Mine', task.norm.use: 'my_lab.mine:Mine', task.use: 'others:Task' are no "
        'part of Saccade, and opening would run them; if you trust whoever wrote it, add '
        '--trust=my_lab.mine:Mine,others:Task'
    )
    trust(['my_lab.mine:Mine', 'others:Task'])
    require_trusted(config, 'config.json')


@pytest.mark.parametrize('use', ['os:system', 'numpy:save', 'torch:load', 'pip:main', 'build:load', 'trust:trust'])
def test_no_flag_is_proposed_that_would_run_installed_code(use):
    if use == 'torch:load':
        pytest.importorskip('torch')
    with pytest.raises(UserError, match=r'it is not opened$'):
        require_trusted({'model': {'use': use}, 'task': {'use': 'my_lab:Task'}}, 'config.json')


@pytest.mark.parametrize('module', ['numpy', 'optax', 'os', 'saccade', 'build', 'data.corpus'])
def test_installed_code_is_not_trusted_as_a_whole(module):
    with pytest.raises(UserError, match=r'is installed code; trust exact names of it'):
        trust([module])


def test_an_exact_name_of_installed_code_may_be_trusted():
    trust(['optax:inject_hyperparams'])
    require_trusted({'optimizer': {'rule': {'use': 'optax:inject_hyperparams'}}}, 'config.json')
    with pytest.raises(UserError):
        require_trusted({'optimizer': {'rule': {'use': 'optax:chain'}}}, 'config.json')


def test_a_trusted_module_and_those_below_it_may_be_named():
    trust(['my_lab'])
    require_trusted({'model': {'use': 'my_lab:Mine', 'mask': {'use': 'my_lab.deep.mine:Mine'}}}, 'config.json')
    for use in ('my_lab_of_others:Mine', 'os:system'):
        with pytest.raises(UserError):
            require_trusted({'model': {'use': use}}, 'config.json')


@pytest.mark.parametrize('module', ['my_lab:', 'my_lab:a.b', ':Mine', '../my_lab', 'my lab', ''])
def test_only_a_name_or_a_module_can_be_trusted(module):
    with pytest.raises(UserError, match='name a class or function'):
        trust([module])


def test_foreign_names_are_those_to_trust():
    config = {
        'model': {'use': 'my_lab.mine:Mine', 'norm': {'use': 'norm.rms:RMSNorm'}},
        'data': {'use': 'corpora:Mine'},
    }
    assert foreign(config) == ['corpora:Mine', 'my_lab.mine:Mine']


def test_every_name_of_the_list_exists():
    files = {path.stem for path in (ROOT / 'src/saccade').iterdir()}
    ours = {module: f'saccade.{module}' for module in NAMES if module.split('.')[0] in files}
    missing = {
        f'{module}:{name}'
        for module, names in NAMES.items()
        for name in names.split()
        if not hasattr(importlib.import_module(ours.get(module, module)), name)
    }
    assert missing == set()


REACHING = re.compile(
    r'(?<!\.)\b(open|exec|eval|compile|__import__)\(|\b(import_module|Popen)\('
    r'|\.(write_text|write_bytes|tofile|mkdir|touch|unlink|rmtree)\(|\bnp\.(save\w*|load\w*|fromfile|memmap)\('
    r'|^\s*(import|from) (ctypes|importlib|io|multiprocessing|os|pathlib|pickle|runpy|shutil|socket|subprocess|sys)\b',
    re.MULTILINE,
)


def test_a_module_of_a_room_defines_no_function_that_touches_files():
    """What a room defines may be called with any arguments by whoever wrote a config."""
    files = {file for room in ROOMS for file in (ROOT / 'src/saccade' / room).rglob('*.py')}
    assert {folder.name for folder in {file.parent for file in files}} > {'attention', 'cell', 'decoder', 'mixer'}
    assert [file for file in files if REACHING.search(file.read_text())] == []


@pytest.mark.parametrize(
    'line',
    ['import os', 'from os import path', '    import shutil', "open('it')", 'np.save(path, x)', "path.write_text('')"],
)
def test_code_that_touches_files_is_found(line):
    assert REACHING.search(f'"""Module."""\n\n{line}\n')
