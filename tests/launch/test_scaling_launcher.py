# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What a chip sends as chips grow in number is what the formula says, on eight devices here."""

import json
from pathlib import Path

import pytest

CONFIG = Path(__file__).parents[2] / 'experiments/causal_lm/llama_tiny.py'
SMALL = ('--config.model.layers=1', '--config.model.width=64', '--config.model.context_length=64')
SMALL += ('--config.model.vocabulary=512',)


@pytest.mark.long
@pytest.mark.parametrize(('axis', 'gathers'), [('data', 0), ('fsdp', 1)])
def test_devices_send_what_the_formula_says(runner, axis, gathers):
    done = runner.run('scaling', f'--config={CONFIG}', *SMALL, f'--axis={axis}', '--rows=16', '--json', devices=8)
    assert done.returncode == 0, done.stderr
    (point,) = json.loads(done.stdout)['points']
    sent = point['sent']
    assert point['chips'] == 8
    assert sent['all-reduce'] == pytest.approx(point['formula'] * 2 / (2 + gathers), rel=0.01)
    assert sent.get('all-gather', 0) == pytest.approx(point['formula'] * gathers / 3, rel=0.02)


@pytest.mark.long
def test_along_expert_they_send_rows_of_routes_there_and_back(runner):
    mixture = CONFIG.with_name('mixtral_tiny.py')
    done = runner.run('scaling', f'--config={mixture}', *SMALL, '--axis=expert', '--rows=4', '--json', devices=8)
    assert done.returncode == 0, done.stderr
    (point,) = json.loads(done.stdout)['points']
    assert point['routes'] == 4 * (4 * 64) * 2 * 64 * 4 * 7 // 8  # both ways, there and back: tokens, active, width
    assert point['sent']['all-to-all'] == pytest.approx(1.25 * point['routes'], rel=0.01)
    assert point['sent']['all-reduce'] == pytest.approx(point['formula'] - point['routes'], rel=0.01)


@pytest.mark.long
def test_it_is_a_table_too(runner):
    done = runner.run('scaling', f'--config={CONFIG}', *SMALL, '--rows=2', devices=2)
    assert done.returncode == 0, done.stderr
    assert 'split along data' in done.stdout
    assert 'formula' in done.stdout


@pytest.mark.long
@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        ((), 'give --config=FILE'),
        ((f'--config={CONFIG}', '--axis=tensor'), '--axis=tensor: use one of data, fsdp, expert'),
    ],
)
def test_what_cannot_be_is_one_line(runner, arguments, words):
    done = runner.run('scaling', *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count('\n') == 1
