# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The commands of the benchmarks, run from the repository's root."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.accelerator import SCALES

ROOT = Path(__file__).parents[2]


def run(module, *arguments):
    command = [sys.executable, '-m', module, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


@pytest.mark.parametrize('module', ['benchmarks', 'benchmarks.accelerate'])
def test_help_is_printed_without_jax(module):
    program = (
        f'import atexit, runpy, sys; sys.argv = ["", "--help"]; '
        f'atexit.register(lambda: print(*({{"jax", "flax", "torch", "rich"}} & {{*sys.modules}}))); '
        f'runpy.run_module({module!r}, run_name="__main__", alter_sys=True)'
    )
    done = subprocess.run([sys.executable, '-c', program], cwd=ROOT, capture_output=True, text=True)
    *printed, imported = done.stdout.splitlines()
    assert any(line.startswith('  --') for line in printed)
    assert (imported, done.stderr) == ('', '')


def test_flags_offer_the_scales_that_there_are():
    """The command writes them out, since what is measured imports JAX."""
    assert f'<{"|".join(SCALES)}>' in run('benchmarks.accelerate', '--help').stdout


@pytest.mark.long
def test_figures_for_programs_are_one_object():
    done = run('benchmarks', '--what=memory', '--length=256', '--length=512', '--json')
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found['what'] == 'memory'
    assert found['lengths'] == [256, 512]
    assert found['machine']['cores'] >= 1


@pytest.mark.long
@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        ((), 'give --what='),
        (('--nonsense=1',), '--nonsense'),
        (('--what=training', '--size=C'), '--size=C: there is no such size; there are A, B, deep'),
        (('--what=training', '--rounds=0'), 'flag --rounds=0: 0'),
        (('--what=training', '--steps=-1'), 'flag --steps=-1: -1'),
        (('--what=training', '--length=8'), '--length has no effect with --what=training'),
        (('--what=memory', '--rounds=2'), '--rounds has no effect with --what=memory'),
        (('--what=memory', '--length=0'), 'flag --length=0: 0'),
        (('--what=memory', '--config.width=3'), "'--config.width=3': only --what=utilisation measures a config"),
        (('--what=search', '--texts=5', '--texts=2000'), '--texts: an exponent needs two numbers of 2 to 1000 texts'),
        (('--what=costs', '--counts', '--rounds=2'), '--rounds has no effect with --counts'),
        (('--what=memory', '--counts'), '--counts has no effect with --what=memory'),
        (('--what=costs', '--out=/not/there.md'), '--out=/not/there.md: there is no folder /not'),
        (('--what=costs', '--records=/not/there.csv'), '--records=/not/there.csv: there is no folder /not'),
        (('--what=memory', '--records=costs.csv'), '--records has no effect with --what=memory'),
        (('--what=costs', '--length=256'), '--length: an exponent with an interval needs three lengths or more'),
        (('--what=utilisation', '--trace=/proc/x'), '--trace=/proc/x: it cannot be written to'),
        (('--what=utilisation', '--config=not_there.py', '--force'), 'not_there.py'),
    ],
)
def test_what_cannot_be_measured_is_refused_in_one_line(arguments, words):
    refused(run('benchmarks', *arguments), words)


@pytest.mark.long
def test_rows_of_an_accelerator_have_no_config():
    refused(
        run('benchmarks.accelerate', '--config.model.width=3'), "'--config.model.width=3': this command takes no config"
    )


def refused(done, words):
    assert done.returncode == 2, done.stdout
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ''


@pytest.mark.long
def test_search_is_measured_by_reading_each_text_and_each_pair():
    counts = (f'--texts={count}' for count in (20, 80, 200))
    done = run('benchmarks', '--what=search', *counts, '--crossed=80', '--json')
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [each['measured'] for each in found['times']] == [True, True, False]
    measured, extrapolated = found['times'][1:]
    assert extrapolated['cross'] == pytest.approx(measured['cross'] * (200 * 199) / (80 * 79))
    assert found['exponents']['cross'] > found['exponents']['bi']
