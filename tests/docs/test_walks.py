# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The walks through the code: each `file.py:name` is there, and runs."""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import jax
import pytest
from house import NOT_COUNTED, calls

from saccade.analysis.report.write import report
from saccade.decode.sample import Writer
from saccade.decode.sampling import Sampler
from saccade.train.config import load_config
from saccade.train.loop import Options, train
from saccade.train.trained import open_trained

ROOT = Path(__file__).parents[2]
WALKS = ROOT / 'docs/guides/walks.md'
PLACES = list(dict.fromkeys(re.findall(r'`([\w/]+\.py:[^`]*)`', WALKS.read_text())))
SMALL = ('steps=2', 'baseline=None', 'sample=None', 'model.width=24', 'model.layers=1', 'data.path=README.md')


def names(node: ast.AST) -> Iterator[str]:
    """Functions and classes of a file, and methods as Class.method."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            yield child.name
            yield from (f'{child.name}.{name}' for name in names(child))


@functools.cache
def names_of(file: str) -> set[str]:
    found = [folder / file for folder in (ROOT, ROOT / 'src/saccade') if (folder / file).is_file()]
    return set(names(ast.parse(found[0].read_text()))) if found else set()


@pytest.mark.parametrize('place', PLACES)
def test_a_place_is_there(place):
    file, _, name = place.partition(':')
    assert name in names_of(file)


def test_there_are_three_walks_with_places():
    walks = WALKS.read_text().split('\n## ')[1:]
    assert [len(re.findall(r'\.py:', walk)) > 10 for walk in walks] == [True] * 3


@pytest.mark.long
def test_training_a_report_and_generation_pass_through_every_place(tmp_path, monkeypatch):
    monkeypatch.setenv('SACCADE_CACHE', str(tmp_path / 'cache'))
    monkeypatch.chdir(ROOT)
    folder = tmp_path / 'runs'

    def walk() -> None:
        config = load_config('experiments/causal_lm/quickstart.py', [f'--config.{field}' for field in SMALL])
        train(config, f'{folder}/one', Options(quiet=True))
        report(folder)
        trained = open_trained(f'{folder}/one', None)
        Writer(trained.model, trained.params, trained.tokenizer, Sampler()).write('def ', jax.random.key(0), 2)

    ran = {f'{file}:{name}.' for file, name in calls(walk)}
    passed = [place for place in PLACES if any(name.startswith(f'{place}.') for name in ran)]
    outside = ('launch/', 'experiments/', *NOT_COUNTED)
    assert [place for place in PLACES if place not in passed and not place.startswith(outside)] == []
