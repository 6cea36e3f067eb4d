# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The page on the lecture notes is true: parts, tests and files of figures are there, and its counts are its rows'.

tests/docs/test_docs.py checks the launchers' commands of all pages, this one included.
"""

import ast
import functools
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from test_docs import commands, refused, wrong

from saccade.parts import parts

ROOT = Path(__file__).parents[2]
PAGE, ERRATA = ROOT / 'docs/notes.md', ROOT / 'docs/errata.md'
OUTPUTS = sorted((ROOT / 'docs/results/notes').iterdir())
VERDICTS = ('holds if', 'holds', 'does not hold', 'not decided here')
FIGURE = re.compile(r'\[((?:[^\[\]]|\[[^\[\]]*\])+)\]\((results[\w/.]*)\)')
PART = re.compile(r'([a-z_0-9.]+):(\w+)')
TEST = re.compile(r'`([\w/]+\.py)::(test_\w+)`')
# Commands that are no launchers.
OTHERS = {'make oracle', *(f'python -m benchmarks --what={what}' for what in ('memory', 'search', 'training --size=A'))}


class Row(NamedTuple):
    """A row of the tables on the sets. Attributes: its cells; of a heading the last two are empty."""

    set: int
    line: int
    claim: str
    verdict: str
    evidence: str

    @property
    def is_heading(self):
        return self.claim.startswith('**')

    @property
    def named(self):
        """What the last cell names: parts, then commands, then tests."""
        return re.findall(r'`([^`]*)`', self.evidence)

    @property
    def word(self):
        """The verdict without what follows it."""
        return next((word for word in VERDICTS if re.match(rf'{word}\b', self.verdict)), '')


def tables():
    """Yield the rows of each set."""
    for number, text in re.findall(r'^## Set (\d).*?\n(.*?)(?=^## |\Z)', PAGE.read_text(), re.M | re.S):
        for line in re.findall(r'^\| (\d+ \|.*) \|$', text, re.M):
            line, *cells = (cell.strip() for cell in line.split('|'))
            yield Row(int(number), int(line), *cells)


ROWS = list(tables())
CLAIMS = [row for row in ROWS if not row.is_heading]


@functools.cache
def functions_of(file):
    path = ROOT / 'tests' / file
    tree = ast.parse(path.read_text()) if path.is_file() else ast.Module([], [])
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def words(target):
    """The text of a file that a figure leads to, in one line."""
    file = {'results.md': ROOT / 'experiments/RESULTS.md'}.get(target, PAGE.parent / target)
    return ' '.join(file.read_text().split())


def test_rows_are_in_the_order_of_the_notes_and_headings_are_nothing_but_headings():
    assert sorted(ROWS, key=lambda row: (row.set, row.line)) == ROWS
    assert {row.set for row in ROWS} == set(range(5))
    assert [row for row in ROWS if row.is_heading and any(row[3:])] == []


def test_every_claim_has_a_part_and_a_verdict():
    assert [row for row in CLAIMS if not (row.claim and row.word and PART.fullmatch(row.named[0]))] == []


def test_a_verdict_that_a_claim_holds_or_not_rests_on_a_test_or_a_figure():
    decided = [row for row in CLAIMS if row.word != 'not decided here']
    assert [row for row in decided if not TEST.search(row.evidence) and not FIGURE.search(row.verdict)] == []


def test_its_parts_are_parts():
    named = {(found[1], found[2]) for row in CLAIMS for name in row.named if (found := PART.fullmatch(name))}
    assert {(module, name) for module, name in named if name not in parts().get(module, ())} == set()


@pytest.mark.parametrize('page', [PAGE, ERRATA], ids=lambda path: path.stem)
def test_its_tests_are_there(page):
    named = TEST.findall(page.read_text())
    assert len(named) > 5
    assert {(file, name) for file, name in named if name not in functions_of(file)} == set()


def test_all_else_that_a_row_names_are_commands_which_the_tests_of_all_pages_read():
    named = [name for row in CLAIMS for name in row.named if name not in OTHERS]
    rest = [name for name in named if not (PART.fullmatch(name) or TEST.fullmatch(f'`{name}`'))]
    assert rest == list(commands(PAGE.read_text()))


def test_every_figure_is_in_the_file_that_it_leads_to():
    figures = [(text, target) for row in CLAIMS for text, target in FIGURE.findall(row.verdict)]
    assert len(figures) > 20
    assert {(text, target) for text, target in figures if text not in words(target)} == set()


@pytest.mark.parametrize('file', OUTPUTS, ids=lambda path: path.stem)
def test_an_output_begins_with_its_command_and_says_what_it_ran_on(file):
    text = file.read_text()
    told = re.findall(r'^\$ python (.*)', text, re.M)
    assert text.startswith('$ python ')
    assert {command: wrong(command) for command in told if wrong(command)} == {}
    assert re.search(r'Python 3\.\d+\.\d+, .*jax|jax \d.*Python 3', text)
    assert f'(results/notes/{file.name})' in PAGE.read_text()


def test_the_counts_are_those_of_the_rows():
    counts = Counter(row.word for row in CLAIMS)
    told = dict(re.findall(r'^\| ([a-z ]+) \| (\d+) \|', PAGE.read_text(), re.M))
    assert told == {**{word: str(counts[word]) for word in VERDICTS}, 'all': str(len(CLAIMS))}


def test_the_places_of_the_errata_are_on_the_page():
    places = {(row.set, row.line) for row in ROWS}
    lines = re.findall(r'^\| (\d) \| ([\d, ]+) \|', ERRATA.read_text(), re.M)
    told = {(int(number), int(line)) for number, found in lines for line in found.split(', ')}
    assert len(lines) > 20
    assert told <= places


def test_the_readme_leads_to_the_page_from_its_third_line():
    assert '(docs/notes.md)' in (ROOT / 'README.md').read_text().splitlines()[2]


def test_a_command_of_a_row_is_checked():
    assert 'there is no' in wrong('launch/claim.py --what=focus')
    assert 'one of' in wrong('launch/claims.py --what=fokus')
    assert refused('experiments/causal_lm/comparison.py', ['--config.model.widht=3'])
