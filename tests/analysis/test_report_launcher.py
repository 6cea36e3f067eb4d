# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The report from the command line."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from report_study import write_study

FILES = ('index.html', 'report.md', 'table.tex', 'variants.csv', 'runs.csv')
LAUNCHER = Path(__file__).parents[2] / 'launch/report.py'


def launch(*arguments: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, 'JAX_PLATFORMS': 'cpu', 'COLUMNS': '100'}
    return subprocess.run([sys.executable, LAUNCHER, *arguments], capture_output=True, text=True, env=environment)


@pytest.fixture(scope='module')
def folder(tmp_path_factory) -> Path:
    return write_study(tmp_path_factory.mktemp('sweeps') / 'heads', title='How many heads?')


@pytest.mark.long
def test_people_get_the_ranking_and_where_the_files_are(folder):
    done = launch(f'--workdir={folder}')
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == 'How many heads?'
    assert any(line.startswith('rank') and 'bits per byte [95% interval]' in line for line in lines)
    assert [line[0] for line in lines if re.match(r'[123]  ', line)] == ['1', '2', '3']
    assert lines[-6:] == [str(folder / 'report' / name) for name in (*FILES, 'figures')]
    assert all((folder / 'report' / name).stat().st_size > 100 for name in FILES)


@pytest.mark.long
def test_programs_get_one_json_object(folder, tmp_path):
    done = launch(f'--workdir={folder}', f'--out={tmp_path}', '--metric=accuracy', '--best=lowest', '--json')
    found = json.loads(done.stdout)
    assert (found['metric'], found['best'], found['split']) == ('accuracy', 'lowest', 'validation')
    assert found['files'] == [str(tmp_path / name) for name in FILES]
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted((*FILES, 'figures'))
    assert sorted(map(str, tmp_path.glob('figures/*'))) == sorted(found['figures'])
    assert str(tmp_path / 'figures/forest.pdf') in found['figures']


@pytest.mark.long
def test_a_mistake_is_one_line(tmp_path):
    done = launch(f'--workdir={tmp_path / "absent"}')
    assert done.returncode == 2
    assert done.stderr.startswith('error: ')
    assert done.stderr.count('\n') == 1
