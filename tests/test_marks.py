# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Marks of the tests: all are registered, in the folders too that `make test` does not collect; ours have a command.

The mark `oracle_of`, which has arguments, declares something and selects no tests.
"""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_every_mark_is_registered(request):
    registered = {re.match(r'\w+', line)[0] for line in request.config.getini('markers')}
    used = {
        mark
        for file in (ROOT / 'tests').rglob('*.py')
        for mark in re.findall(r'\bpytest\.mark\.(\w+)', file.read_text())
    }
    assert used - registered == set()


def test_every_mark_of_ours_has_a_command():
    marks = tomllib.loads((ROOT / 'pyproject.toml').read_text())['tool']['pytest']['ini_options']['markers']
    commands = re.findall(r'pytest -m (\w+)', (ROOT / 'Makefile').read_text())
    assert sorted(commands) == sorted(mark.partition(':')[0] for mark in marks if '(' not in mark.partition(':')[0])
