# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The tables of claims from the command line."""

import json

import pytest


@pytest.mark.long
def test_a_table_and_its_files(runner):
    out, csv = runner.folder / 'steps.png', runner.folder / 'steps.csv'
    done = runner.run(
        'claims', '--what=interaction', '--length=4', '--length=8', f'--out={out}', f'--csv={csv}', '--json'
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)['steps']['RNN'] == [4, 8]
    assert out.stat().st_size > 1000
    assert csv.read_text().splitlines()[0] == 'n,RNN,convolution,attention'


@pytest.mark.long
def test_bad_input_is_refused_in_one_line(runner):
    for arguments, message in (
        (
            [],
            'error: give --what=interaction, gradient, time, conversation, estimators, '
            'induction, norms, heads, focus\n',
        ),
        (['--what=time', '--csv=none/a.csv'], 'error: --csv=none/a.csv: there is no folder none; create it first\n'),
        (['--what=time', '--out=a.gif'], 'error: a.gif: a chart is written to a file that ends in .png, .svg, .pdf\n'),
    ):
        done = runner.run('claims', *arguments)
        assert (done.returncode, done.stderr) == (2, message)
