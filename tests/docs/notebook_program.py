# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Program that runs a notebook in a fresh interpreter, and each of its exercises with wrong answers and the right one.

python tests/docs/notebook_program.py NOTEBOOK

It ends with an error if a cell fails or a check tells a wrong answer from a right one wrongly.
"""

import contextlib
import io
import json
import re
import sys
import types
from pathlib import Path
from typing import Any, NamedTuple

from saccade.studies.exercise import OPEN, RIGHT, WRONG

Cell = dict[str, Any]


class Exercise(NamedTuple):
    """Exercise of a notebook.

    Attributes: stub and check, sources of its cells; solution, code; wrong, replacements in it that make it wrong.
    """

    stub: str
    check: str
    solution: str
    wrong: list[tuple[str, str]]

    def answers(self) -> list[tuple[str, str]]:
        """Return pairs of an answer and the first words of its verdict; the last one is the stub again."""
        mistakes = [(self.solution.replace(old, new, 1), WRONG) for old, new in self.wrong]
        return [(self.stub, OPEN), *mistakes, (self.solution, RIGHT), (self.stub, OPEN)]


def cells_of(notebook: Path) -> list[Cell]:
    """Return the cells, the source of each as one text."""
    cells = json.loads(notebook.read_text())['cells']
    return [cell | {'source': ''.join(cell['source'])} for cell in cells]


def has_tag(cell: Cell, tag: str) -> bool:
    return tag in cell['metadata'].get('tags', ())


def exercises(cells: list[Cell]) -> dict[int, Exercise]:
    """Return the exercises by the index of their checks: a cell with a stub, its check, and a solution that unfolds."""
    found = {}
    for index, cell in enumerate(cells):
        if has_tag(cell, 'exercise'):
            check, solution = cells[index + 1], cells[index + 2]
            assert has_tag(check, 'check'), f'no check after {cell["source"]}'
            assert has_tag(solution, 'solution'), f'no solution after {check["source"]}'
            (code,) = re.findall(r'<details>.*\n```python\n(.*)\n```\n\n</details>', solution['source'], re.S)
            found[index + 1] = Exercise(cell['source'], check['source'], code, cell['metadata']['wrong'])
    return found


def run(notebook: Path) -> None:
    """Run the cells in order; at a check, try all answers."""
    cells = cells_of(notebook)
    tried = exercises(cells)
    module = types.ModuleType('notebook')
    sys.modules[module.__name__] = module  # where dataclasses look their own module up

    def execute(index: int, source: str) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(source, f'<cell {index}>', 'exec'), vars(module))
        return printed.getvalue()

    for index, cell in enumerate(cells):
        if index in tried:
            for answer, verdict in tried[index].answers():
                execute(index - 1, answer)
                printed = execute(index, cell['source'])
                assert printed.startswith(verdict), f'{verdict!r} expected, {printed!r} printed: of\n{answer}'
        elif cell['cell_type'] == 'code':
            execute(index, cell['source'])


if __name__ == '__main__':
    run(Path(sys.argv[1]))
