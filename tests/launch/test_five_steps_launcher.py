# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The five steps of attention from the command line."""

import json

import pytest


@pytest.mark.long
def test_every_number_is_in_one_object(runner):
    done = runner.run('five_steps', '--text=the sky', '--turns=3', '--json')
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found['source'] == ['the', 'sky']
    assert len(found['turns']) == 3
    assert found['difference'] < 1e-5


@pytest.mark.long
def test_nothing_to_read_is_refused_in_one_line(runner):
    done = runner.run('five_steps', '--text=')
    assert done.returncode == 2
    assert done.stderr == 'error: --text: the text has no words\n'
