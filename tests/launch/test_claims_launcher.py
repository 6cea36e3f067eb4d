# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The tables of claims from the command line."""

import json

import pytest


@pytest.mark.long
def test_a_table_and_its_picture(runner):
    out = runner.folder / 'steps.png'
    done = runner.run('claims', '--what=interaction', '--length=4', '--length=8', f'--out={out}', '--json')
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)['steps']['RNN'] == [4, 8]
    assert out.stat().st_size > 1000


@pytest.mark.long
def test_bad_input_is_refused_in_one_line(runner):
    for arguments, message in (
        ([], 'error: give --what=interaction, gradient, time, conversation, estimators, induction, focus\n'),
        (['--what=time', '--out=a.gif'], 'error: a.gif: a chart is written to a file that ends in .png, .svg, .pdf\n'),
    ):
        done = runner.run('claims', *arguments)
        assert (done.returncode, done.stderr) == (2, message)
