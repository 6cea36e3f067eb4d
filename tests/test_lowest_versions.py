# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The oldest versions that pyproject.toml admits: installed, and a model trained, restored and sampled from."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SMALL = (
    '--config.model.width=32',
    '--config.model.block.mixer.heads=2',
    '--config.steps=2',
    f'--config.data.path={ROOT / "README.md"}',
    '--config.sample=None',
)
TRAIN = ('launch/train.py', '--config=experiments/causal_lm/quickstart.py', *SMALL)


@pytest.mark.long
def test_the_lowest_versions_train_restore_and_generate(tmp_path):
    project = tomllib.loads((ROOT / 'pyproject.toml').read_text())['project']
    wanted = [*project['dependencies'], *project['optional-dependencies']['train']]
    lowest = [requirement.replace('>=', '==', 1) for requirement in wanted]
    interpreter = f'python{project["requires-python"].removeprefix(">=")}'  # later ones have no wheels of them
    is_it = interpreter == f'python{sys.version_info.major}.{sys.version_info.minor}'
    python = sys.executable if is_it else shutil.which(interpreter)
    if python is None:
        pytest.skip(f'there is no {interpreter}')
    subprocess.run([python, '-m', 'venv', tmp_path / 'venv'], check=True)
    python = str(tmp_path / 'venv' / 'bin' / 'python')
    pip = [python, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check']
    installed = subprocess.run([*pip, *lowest], capture_output=True, text=True)
    if installed.returncode and 'connection' in installed.stderr.lower():
        pytest.skip(f'no registry answers: {installed.stderr.strip().splitlines()[-1]}')
    assert installed.returncode == 0, installed.stderr
    assert 'yanked' not in installed.stderr
    subprocess.run([*pip, '--no-deps', '--editable', ROOT], check=True)

    environment = {name: value for name, value in os.environ.items() if name != 'XLA_FLAGS'}
    environment |= {'JAX_PLATFORMS': 'cpu', 'SACCADE_CACHE': str(tmp_path / 'cache')}
    workdir = f'--workdir={tmp_path / "run"}'
    # The second command restores the checkpoint of the first.
    for command in (TRAIN, TRAIN, ('launch/generate.py', '--prompt=def ', '--max_tokens=4')):
        done = subprocess.run([python, *command, workdir], cwd=ROOT, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
