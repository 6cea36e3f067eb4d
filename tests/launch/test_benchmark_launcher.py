# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The benchmark from the command line."""

import json

import pytest


@pytest.mark.long
def test_figures_for_programs_are_one_object(runner):
    done = runner.run('benchmark', '--what=memory', '--length=256', '--length=512', '--json')
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found['what'] == 'memory'
    assert found['lengths'] == [256, 512]
    assert found['machine']['cores'] >= 1


@pytest.mark.long
@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (('--what=training', '--size=C'), '--size=C: there is no such size; there are A, B, deep'),
        (('--what=search', '--texts=5', '--texts=2000'), '--texts: an exponent needs two numbers of 2 to 1000 texts'),
        (('--what=memory', '--config.width=3'), "'--config.width=3': only --what=utilisation measures a config"),
    ],
)
def test_what_cannot_be_measured_is_refused_in_one_line(runner, arguments, words):
    done = runner.run('benchmark', *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.slow
def test_search_is_measured_by_reading_each_text_and_each_pair(runner):
    counts = (f'--texts={count}' for count in (20, 80, 200))
    done = runner.run('benchmark', '--what=search', *counts, '--crossed=80', '--json')
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [each['measured'] for each in found['times']] == [True, True, False]
    measured, extrapolated = found['times'][1:]
    assert extrapolated['cross'] == pytest.approx(measured['cross'] * (200 * 199) / (80 * 79))
    assert found['exponents']['cross'] > found['exponents']['bi']
