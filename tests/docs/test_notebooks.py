# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The notebooks run; checks of their exercises know a right answer from a wrong one; their links lead somewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from notebook_program import cells_of, exercises
from test_docs import commands, wrong

from saccade.parts import parts
from saccade.studies.exercise import OPEN, RIGHT, WRONG, check

ROOT = Path(__file__).parents[2]
LECTURES = sorted((ROOT / 'docs/notebooks').glob('*.ipynb'))
NOTEBOOKS = [ROOT / 'docs/notebook.ipynb', *LECTURES]
PROGRAM = Path(__file__).parent / 'notebook_program.py'

each_notebook = pytest.mark.parametrize('notebook', NOTEBOOKS, ids=lambda path: path.stem)
each_lecture = pytest.mark.parametrize('notebook', LECTURES, ids=lambda path: path.stem)


def run(notebook, folder):
    """Run a notebook in a fresh interpreter, without the settings of the tests' own."""
    own = {name: value for name, value in os.environ.items() if name not in ('XLA_FLAGS', 'PYTEST_CURRENT_TEST')}
    given = dict(MPLBACKEND='agg', SACCADE_CACHE=str(folder / 'cache'), TMPDIR=str(folder))
    command = [sys.executable, '-W', 'error', str(PROGRAM), str(notebook)]
    return subprocess.run(command, env=own | given, cwd=notebook.parent, capture_output=True, text=True)


@pytest.mark.long
@each_notebook
def test_it_runs_from_its_first_cell_to_its_last_and_its_exercises_are_checked(notebook, tmp_path):
    done = run(notebook, tmp_path)
    assert done.returncode == 0, done.stderr[-5000:]


@each_notebook
def test_it_was_saved_as_it_runs_without_errors_and_is_small(notebook):
    cells = [cell for cell in cells_of(notebook) if cell['cell_type'] == 'code']
    assert [cell['execution_count'] for cell in cells] == list(range(1, len(cells) + 1))
    assert not [output for cell in cells for output in cell['outputs'] if output['output_type'] == 'error']
    assert not [output for cell in cells for output in cell['outputs'] if output.get('name') == 'stderr']
    assert len(notebook.read_bytes()) < 200_000


@each_lecture
def test_it_has_exercises_with_answers_that_are_wrong_in_one_place(notebook):
    found = exercises(cells_of(notebook)).values()
    assert 3 <= len(found) <= 6
    for exercise in found:
        assert len(exercise.wrong) >= 2, exercise.stub
        assert all(exercise.solution.count(old) and old != new for old, new in exercise.wrong), exercise.solution
        assert re.search(r'\b(\w+) = None|return None', exercise.stub), exercise.stub


@each_lecture
def test_an_exercise_was_saved_unanswered(notebook):
    cells = cells_of(notebook)
    for index in exercises(cells):
        assert ''.join(cells[index]['outputs'][0]['text']).startswith(OPEN)


@each_notebook
def test_its_links_commands_and_parts_are_there(notebook):
    cells = cells_of(notebook)
    text = '\n'.join(cell['source'] for cell in cells if cell['cell_type'] == 'markdown')
    code = '\n'.join(cell['source'] for cell in cells if cell['cell_type'] == 'code')
    for target in re.findall(r'\]\(([^)#\s]+)(?:#[^)]*)?\)', text):
        assert '://' in target or 'reference/' in target or (notebook.parent / target).exists(), target
    assert {command: wrong(command) for command in commands(text) if wrong(command)} == {}
    named = re.findall(r"""['"]?use['"]?[=:] ?['"](?!jax)([\w.]+):(\w+)['"]""", code)
    assert [(module, name) for module, name in named if name not in parts().get(module, ())] == []


@pytest.mark.parametrize(
    ('answer', 'verdict'),
    [
        (None, OPEN),
        (2.0, RIGHT),
        (2.00005, RIGHT),
        (2.1, f'{WRONG}. Halve it.'),
        (float('nan'), WRONG),
        (np.array([2.0]), f'{WRONG}: the shape is (1,), expected ().'),
    ],
)
def test_an_answer_is_checked(answer, verdict, capsys):
    check(answer, 2.0, 'Halve it.')
    printed = capsys.readouterr().out
    assert printed.startswith(verdict)
    assert ('Halve it.' in printed) == (verdict != RIGHT)


NOTEBOOK = """{{"cells": [
 {{"cell_type": "code", "metadata": {{}}, "source": ["from saccade.studies.exercise import check"]}},
 {{"cell_type": "code", "metadata": {{"tags": ["exercise"], "wrong": [["2", "{mistake}"]]}}, "source": ["x = None"]}},
 {{"cell_type": "code", "metadata": {{"tags": ["check"]}}, "source": ["check(x, {right}, 'Count.')"]}},
 {{"cell_type": "markdown", "metadata": {{"tags": ["solution"]}},
  "source": ["<details>\\n\\n```python\\nx = 2\\n```\\n\\n</details>"]}},
 {{"cell_type": "code", "metadata": {{}}, "source": ["{last}"]}}
]}}"""


@pytest.mark.long
@pytest.mark.parametrize(
    ('change', 'words'),
    [
        ({}, ''),
        ({'right': '3'}, "'Right.' expected"),  # the solution is wrong
        ({'mistake': '2.0'}, "'Not right yet' expected"),  # the check takes a wrong answer
        ({'last': 'x + 1'}, 'TypeError'),  # a later cell needs the answer
        ({'last': '1 / 0'}, 'ZeroDivisionError'),
    ],
)
def test_a_notebook_that_is_wrong_is_found(change, words, tmp_path):
    notebook = tmp_path / 'notebook.ipynb'
    notebook.write_text(NOTEBOOK.format(**{'mistake': '5', 'right': '2', 'last': 'print(x)'} | change))
    done = run(notebook, tmp_path)
    assert words in done.stderr
    assert bool(done.returncode) == bool(words)
