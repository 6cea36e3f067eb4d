# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The package as it is installed: what a wheel holds, the command `saccade`, and experiments by name."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
import yaml

from saccade import commands, extras
from saccade.train.config import load_config
from saccade.train.config_file import run_file
from saccade.types import UserError

REPOSITORY = Path(__file__).parents[1]
PLACES = {'src/saccade': 'saccade', 'experiments': 'saccade/experiments', 'launch': 'saccade/launch'}
INSTALLED = ('.py', '.css', '.jinja', '.js', '.sh')  # and no notes


def saccade(*arguments, folder):
    """Run the command in a folder, as the script of an installed package does."""
    program = 'from saccade.commands import main; main()'
    return subprocess.run(
        [sys.executable, '-c', program, *arguments], cwd=folder, env={**os.environ}, capture_output=True, text=True
    )


def test_it_lists_every_launcher(tmp_path):
    said = saccade(folder=tmp_path)
    listed = [line.split()[0] for line in said.stdout.splitlines() if line.startswith('  ')]
    assert listed == sorted(file.stem for file in (REPOSITORY / 'launch').glob('[a-z]*.py'))
    assert re.search(r'\n  train +\w[^\n]* config\n', said.stdout)
    assert said.stdout == saccade('--help', folder=tmp_path).stdout


def test_a_wrong_command_names_the_nearest(tmp_path):
    said = saccade('trian', folder=tmp_path)
    assert (said.returncode, said.stdout) == (2, '')
    assert said.stderr.count('\n') == 1
    assert "'trian'; did you mean 'train'?" in said.stderr
    assert 'saccade --help' in said.stderr


def test_its_version_is_that_of_the_package(tmp_path):
    assert saccade('--version', folder=tmp_path).stdout == f'saccade {metadata.version("saccade")}\n'


def test_the_version_is_the_same_wherever_it_is_written():
    version = tomllib.loads((REPOSITORY / 'pyproject.toml').read_text())['project']['version']
    citation = yaml.safe_load((REPOSITORY / 'CITATION.cff').read_text())
    newest = re.search(r'^## ([^,]*), ', (REPOSITORY / 'CHANGELOG.md').read_text(), re.MULTILINE)
    assert citation['version'] == version
    assert newest[1] == version.removesuffix('.dev0')


@pytest.mark.long
def test_it_runs_a_launcher_and_speaks_of_itself(tmp_path):
    said = saccade('evaluate', '--workdir=none', folder=tmp_path)
    assert said.returncode == 2
    assert said.stderr == 'error: none: there is no such folder; a run is made by saccade train --workdir=none\n'


@pytest.mark.long
def test_the_fields_of_a_part_are_printed_by_its_name_alone(tmp_path):
    said = saccade('fields', 'norm.rms:RMSNorm', folder=tmp_path)
    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith('norm.rms:RMSNorm\n')
    assert said.stdout == saccade('fields', '--part=norm.rms:RMSNorm', folder=tmp_path).stdout


@pytest.mark.parametrize(
    ('text', 'command', 'elsewhere'),
    [
        ('python launch/train.py --config=a', 'saccade train --config=a', 'python ../main/launch/train.py --config=a'),
        (
            '.venv/bin/python3.11 launch/fill_mask.py --turns=4',
            'saccade fill_mask --turns=4',
            '.venv/bin/python3.11 ../main/launch/fill_mask.py --turns=4',
        ),
        (
            'it writes: launch/translate.py has it do so',
            'it writes: saccade translate has it do so',
            'it writes: ../main/launch/translate.py has it do so',
        ),
        3 * ('the folder relaunch/ and launch/ stay',),
    ],
)
def test_commands_are_told_as_they_were_called(text, command, elsewhere, monkeypatch):
    monkeypatch.delenv(commands.CALLED, raising=False)
    for called, told in (
        ('launch/train.py', text),
        ('/usr/bin/pytest', text),
        ('../main/launch/train.py', elsewhere),
        ('/a b/launch/train.py', elsewhere.replace('../main/launch/', '/a b/launch/')),
    ):
        monkeypatch.setattr(sys, 'argv', [called])
        quoted = re.sub(r'(/a b/launch/\w+\.py)', r"'\1'", told)
        assert commands.as_called(text) == quoted
    monkeypatch.setenv(commands.CALLED, '1')
    assert commands.as_called(text) == command


@pytest.mark.parametrize(
    'name', ['causal_lm/quickstart', 'experiments/causal_lm/quickstart.py', 'causal_lm/quickstart.py']
)
def test_an_experiment_is_found_by_its_name(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert load_config(name) == load_config(str(REPOSITORY / 'experiments/causal_lm/quickstart.py'))


def test_a_sweep_is_found_by_its_name_and_a_file_of_ones_own_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_file('sweep', 'heads', 'get_sweep')[0] == run_file('sweep', 'sweeps/heads', 'get_sweep')[0]
    (tmp_path / 'heads').write_text('def get_sweep(): return 3')
    assert run_file('sweep', 'heads', 'get_sweep')[0] == 3
    with pytest.raises(UserError, match="did you mean 'causal_lm/quickstart'"):
        load_config('causal_lm/quikstart')


@pytest.mark.long
def test_a_wheel_holds_every_file_that_the_repository_has(tmp_path):
    pytest.importorskip('setuptools', minversion='77')
    tracked = subprocess.run(['git', 'ls-files'], cwd=REPOSITORY, capture_output=True, text=True)
    if tracked.returncode:
        pytest.skip('this is no git repository')
    tree = tmp_path / 'tree'
    files = [Path(line) for line in tracked.stdout.splitlines() if (REPOSITORY / line).is_file()]
    for file in files:
        (tree / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / file, tree / file)
    program = f'from setuptools import build_meta; print(build_meta.build_wheel({str(tmp_path)!r}))'
    made = subprocess.run([sys.executable, '-c', program], cwd=tree, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    held = set(zipfile.ZipFile(tmp_path / made.stdout.splitlines()[-1]).namelist())
    wanted = {
        file.as_posix().replace(place, name, 1)
        for place, name in PLACES.items()
        for file in files
        if file.is_relative_to(place) and file.suffix in INSTALLED
    }
    assert wanted
    assert {name for name in held if '.dist-info/' not in name} == wanted


def test_an_extra_that_is_not_installed_is_named(monkeypatch, capsys):
    listed = [
        'jax>=0.8',
        'grain>=0.2.12; extra == "train"',
        "tokenizers>=0.21 ; extra == 'train'",
        'wandb; extra == "w"',
    ]
    monkeypatch.setattr(extras, 'requires', lambda name: listed)
    monkeypatch.setattr(extras, '_is_installed', lambda name: name == 'grain')
    assert extras.missing('train') == ['tokenizers']
    assert extras.lacks('w', 'logging') == 'logging needs wandb: pip install "saccade[w]"'
    with pytest.raises(ImportError, match=r'^saccade\.train needs tokenizers: pip install "saccade\[train\]"$'):
        extras.require('train', 'saccade.train')
    monkeypatch.setattr(sys, 'argv', ['saccade', 'train'])
    with pytest.raises(SystemExit, match='2'):
        commands.main()
    assert capsys.readouterr().err == 'error: saccade train needs tokenizers: pip install "saccade[train]"\n'
    monkeypatch.setattr(extras, '_is_installed', lambda name: True)
    assert extras.lacks('train', 'training') == ''
