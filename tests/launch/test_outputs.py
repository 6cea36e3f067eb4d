# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""An output that cannot be written, and a number of nothing, are refused before the work and not after it."""

import pytest
from refused import assert_refused

CONFIG = '--config=experiments/causal_lm/quickstart.py'


@pytest.mark.slow
@pytest.mark.parametrize(
    ('launcher', 'arguments', 'words'),
    [
        ('claims', ('--what=interaction', '--out=/nonexistent/x.png'), '--out=/nonexistent/x.png: there is no folder'),
        ('decompose', ('--workdir=none', '--out=/nonexistent/x.html'), '--out=/nonexistent/x.html: there is no folder'),
        ('embed', ('--workdir=none', '--text=a', '--out=/nonexistent/x'), '--out=/nonexistent/x: there is no folder'),
        (
            'translate',
            ('--workdir=none', '--text=a', '--alignment=/proc/x.png'),
            '--alignment=/proc/x.png: it',
        ),
        ('report', ('--workdir=none', '--out=/proc/x'), '--out=/proc/x: it cannot be written to'),
        ('five_steps', ('--seed=-1',), 'flag --seed=-1: -1'),
        ('train', (CONFIG, '--workdir=/proc/x'), '--workdir=/proc/x: it cannot be written to'),
        ('train', (CONFIG, f'--workdir=a/{300 * "x"}'), 'it cannot be written to: File name too long'),
        ('sweep', (CONFIG, '--sweep=none', '--workdir=/proc/x'), '--workdir=/proc/x: it cannot be written to'),
        ('slurm', (CONFIG, '--workdir=/proc/x'), '--workdir=/proc/x: it cannot be written to'),
    ],
)
def test_it_is_refused_in_one_line(runner, launcher, arguments, words):
    assert_refused(runner.run(launcher, *arguments), words)
