# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Taking attention apart from the command line."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SMALL = (
    'model.width=16', 'batch_size=8', 'steps=2', 'eval_every=0', 'checkpoint_every=0', 'data.train=60',
    'data.validation=20',
)  # fmt: skip


@pytest.fixture(scope='module')
def attending(runner, tmp_path_factory):
    workdir = tmp_path_factory.mktemp('runs') / 'attending'
    config = ROOT / 'experiments/translation/one_to_one.py'
    done = runner.run(
        'train', f'--config={config}', f'--workdir={workdir}', *(f'--config.{each}' for each in SMALL), '--json'
    )
    assert done.returncode == 0, done.stderr
    return workdir


@pytest.mark.long
def test_the_shares_are_in_one_object_and_on_a_page(runner, attending, tmp_path):
    done = runner.run('decompose', f'--workdir={attending}', f'--out={tmp_path}/report.html', '--json', '--rows=12')
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (head,) = found['heads']
    assert found['rows'] == 12
    assert found['error'] < 1e-9
    assert sum(head['encoder'].values()) == pytest.approx(1)
    assert sum(head['terms'].values()) == pytest.approx(1)
    assert len(head['terms']) == 9
    page = (tmp_path / 'report.html').read_text()
    assert page.count('<svg') == 1
    for said in ('source position', 'target position', 'score less its mean over the keys', 'input x temporal', 'all'):
        assert f'>{said}</text>' in page
    assert 'src="http' not in page
    assert f'{100 * head["terms"]["input x rest"]:.1f}%' in page


@pytest.mark.long
def test_all_is_shown_to_people(runner, attending):
    done = runner.run('decompose', f'--workdir={attending}')
    assert done.returncode == 0, done.stderr
    assert 'temporal x temporal' in done.stdout
    assert '20 rows' in done.stdout


@pytest.mark.long
def test_a_model_without_a_source_is_refused_in_one_line(runner, finished):
    done = runner.run('decompose', f'--workdir={finished}')
    assert done.returncode == 2
    assert re.fullmatch('error: model.decoder:Decoder: [^\n]*no cross-attention\n', done.stderr)


@pytest.mark.long
def test_a_page_is_written_to_a_page(runner, attending):
    done = runner.run('decompose', f'--workdir={attending}', '--out=report.png')
    assert done.returncode == 2
    assert re.fullmatch(r'error: --out=report\.png: [^\n]*\.html\n', done.stderr)
