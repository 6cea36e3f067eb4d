# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Imports of launchers: only what is used, when it is used, since some take a second and JAX takes another."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LAUNCHERS = sorted(file.stem for file in (ROOT / 'launch').glob('[a-z]*.py'))
HEAVY = ('jax', 'flax', 'optax', 'beartype', 'rich')
# By the second at which they would be imported: none before data are read and a step is compiled.
LATE = (
    'grain',
    'orbax',
    'tensorboardX',
    'tensorflow_datasets',
    'scipy.stats',
    'matplotlib',
    'jinja2',
    'sacrebleu',
    'sklearn',
    'wandb',
    'PIL',
    'jax.experimental.pallas',
)

REPORT = 'import atexit, sys; atexit.register(lambda: print(*(name for name in {names!r} if name in sys.modules)));'
RUN = 'import runpy; sys.argv = {command!r}; runpy.run_path(sys.argv[0], run_name="__main__")'


def imported(names, program, folder=ROOT, status=0):
    """Which of the modules a program imports, in a process of its own; and what it writes to standard error."""
    done = subprocess.run(
        [sys.executable, '-c', REPORT.format(names=names) + program],
        cwd=folder,
        env={**os.environ, 'SACCADE_CACHE': str(folder)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == status, done.stderr
    return done.stdout.splitlines()[-1].split(), done.stderr, done.stdout


def of_launcher(names, launcher, *flags, **where):
    return imported(names, RUN.format(command=[str(ROOT / f'launch/{launcher}.py'), *flags]), **where)


@pytest.mark.parametrize('launcher', LAUNCHERS)
def test_help_is_printed_without_jax(launcher):
    found, errors, printed = of_launcher(HEAVY, launcher, '--help')
    assert '\n  --' in printed
    assert (found, errors) == ([], '')


@pytest.mark.long
@pytest.mark.parametrize(
    'module',
    [
        'saccade.train.loop',
        'saccade.train.predicting',
        'saccade.launch._sweeps',
        'saccade.decode.search',
        'saccade.decode.translator',
        'saccade.inside.inspection',
    ],
)
def test_a_module_imports_what_it_uses_when_it_uses_it(module):
    found, errors, _ = imported(LATE, f'import {module}')
    assert (found, errors) == ([], '')


@pytest.mark.long
@pytest.mark.parametrize('path', ['none.txt', 'empty.txt'])
def test_a_wrong_path_is_reported_without_what_training_uses_later(path, tmp_path):
    (tmp_path / 'empty.txt').write_text('')
    config = [f'--config={ROOT}/experiments/causal_lm/quickstart.py', f'--workdir={tmp_path / "run"}']
    found, errors, _ = of_launcher(LATE, 'train', *config, f'--config.data.path={path}', folder=tmp_path, status=2)
    assert errors.startswith(f'error: {path}: ')
    assert found == []
