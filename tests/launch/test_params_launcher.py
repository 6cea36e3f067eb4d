# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The weights of a model, from the command line."""

import json
from pathlib import Path

import pytest

QUICKSTART = f'--config={Path(__file__).parents[2] / "experiments/causal_lm/quickstart.py"}'


@pytest.mark.long
def test_a_run_has_counts_and_norms(runner, encoder):
    done = runner.run('params', f'--workdir={encoder}', '--json')
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    query = next(each for each in found['weights'] if each['name'] == 'mixer/query')
    assert (query['role'], query['layers'], query['shape'], query['count']) == ('mixer', 2, [16, 2, 8], 512)
    assert all(each['norm'] > 0 for each in found['weights'] if 'bias' not in each['name'])
    roles = {each['role'] for each in found['roles']}
    assert roles == {'embedding', 'positions', 'mixer', 'feed-forward', 'norms', 'heads'}


@pytest.mark.long
def test_an_experiment_has_counts_without_weights(runner):
    done = runner.run('params', QUICKSTART, '--config.model.layers=96', '--config.model.width=12288')
    assert done.returncode == 0, done.stderr
    assert '173,954,838,528 parameters' in done.stdout
    assert '  mixer/query ' in done.stdout


@pytest.mark.long
@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        ((), 'give one of --workdir=FOLDER'),
        ((QUICKSTART, '--workdir=runs/a'), 'give one of --workdir=FOLDER'),
        (('--workdir=absent', '--config.steps=3'), "'--config.steps=3': a trained model has fixed parameters"),
    ],
)
def test_what_cannot_be_tabulated_is_one_line(runner, arguments, words):
    done = runner.run('params', *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count('\n') == 1
