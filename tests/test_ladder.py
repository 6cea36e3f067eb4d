# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Who may import whom: a file imports only from rows above its own."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
SOURCE = REPOSITORY / 'src' / 'saccade'

PLACES = (SOURCE, REPOSITORY / 'experiments', REPOSITORY / 'launch')

ROWS = (
    {'extras', 'parts'},
    {'types', 'progress', 'commands'},
    {'nearest', 'paths'},
    {'axes', 'layer_paths', 'taps'},
    {'module'},
    {'gain'},
    {'ops'},
    {'norm', 'position', 'feedforward', 'embed', 'augment', 'score', 'softmax'},
    {'attention', 'recurrent'},
    {'block'},
    {'head'},
    {'model'},
    {'task', 'decode', 'hub'},
    {'train'},
    {'sweep'},
    {'analysis'},
    {'inside'},
    {'loaded', 'studies'},
    {'cloud'},
    {'launch'},
)
BESIDE = {
    'completion': {'parts'},
    'lazy': {'build', 'nearest', 'parts'},
    'build': {'types', 'nearest'},
    'trust': {'types', 'parts'},
    'data': {'types', 'nearest', 'paths', 'progress', 'extras', 'ops'},
    'metric': {'types', 'nearest'},
    'baseline': {'types', 'data', 'ops'},
}
BUILDS = {'module', 'train', 'sweep', 'hub', 'decode', 'analysis', 'inside', 'studies', 'launch'}
READS_DATA = {'train', 'sweep', 'hub', 'decode', 'analysis', 'inside', 'loaded', 'studies', 'launch'}
MEASURES = {'task', 'train', 'analysis', 'inside', 'studies', 'launch'}
# Runs that somebody else may have made; a worker puts back what a run trusted; a family may be the user's own.
OPENS = {'train', 'sweep', 'hub'}
NAMES = {name for names in ROWS for name in names}  # which have their parts by name, imported when asked for
USERS = (
    ('completion', {'commands'}),
    ('lazy', NAMES),
    ('build', BUILDS),
    ('trust', OPENS),
    ('data', READS_DATA),
    ('metric', MEASURES),
)


def allowed(package: str) -> set[str]:
    """The packages of Saccade that a file of `package` may import, its own included."""
    if package in BESIDE:
        return BESIDE[package] | {package}
    (row,) = (number for number, names in enumerate(ROWS) if package in names)
    above = {name for names in ROWS[:row] for name in names}
    beside = {name for name, users in USERS if package in users}
    concrete = {'model'} if package == 'train' else set()  # train never names a concrete model
    return (above | beside | {package}) - concrete


def imports(file: Path) -> Iterator[str]:
    """Every module that a file imports, wherever the import stands in it."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        if isinstance(node, ast.ImportFrom):
            yield '.' if node.level else node.module
            yield from (f'{node.module}.{name.name}' for name in node.names)


def package_of(file: Path, source: Path) -> str:
    return file.relative_to(source).parts[0].removesuffix('.py')


def breaches(source: Path) -> list[str]:
    """Every import in a source tree that breaks the ladder, as 'file: module'."""
    found = []
    for file in sorted(source.rglob('*.py')):
        package = package_of(file, source)
        ours = {'lazy', 'build'} if package == '__init__' else allowed(package)
        for module in imports(file):
            parts = module.split('.')
            wrong_row = parts[0] == 'saccade' and len(parts) > 1 and parts[1] not in ours
            wrong_importlib = module in ('importlib', 'importlib.import_module') and package != 'build'
            not_installed = parts[0] in ('', 'benchmarks', 'torch', 'transformers')
            if wrong_row or wrong_importlib or not_installed:
                found.append(f'{file.relative_to(source)}: {module}')
    return found


def foreign(config: Path) -> set[str]:
    """What an experiment imports beside ml_collections, the standard library, and other experiments."""
    others = [module for module in imports(config) if not module.startswith('saccade.experiments')]
    return {module.split('.')[0] for module in others} - {'ml_collections'} - sys.stdlib_module_names


def test_the_ladder_holds():
    assert breaches(SOURCE) == []


def test_every_package_has_a_row():
    known = {name for names in ROWS for name in names} | BESIDE.keys()
    assert {package_of(file, SOURCE) for file in SOURCE.rglob('*.py')} <= known | {'__init__'}


def test_every_folder_of_code_is_a_package():
    """Setuptools finds packages by their `__init__.py`, and installs no others."""
    folders = {file.parent for folder in PLACES for file in folder.rglob('*.py')}
    assert {*PLACES} <= folders
    assert [folder for folder in folders if not (folder / '__init__.py').is_file()] == []


def test_experiments_import_ml_collections_alone():
    configs = sorted((REPOSITORY / 'experiments').rglob('*.py'))
    assert {str(config): names for config in configs if (names := foreign(config))} == {}


@pytest.mark.parametrize(
    ('place', 'line'),
    [
        ('ops/mask.py', 'from saccade.norm.layer import LayerNorm'),
        ('norm/layer.py', 'from saccade.position import rotary'),
        ('norm/layer.py', 'from saccade import model'),
        ('types.py', 'import saccade.ops.mask'),
        ('block/late.py', 'def late():\n    from saccade.task.causal_lm import CausalLM'),
        ('data/text/stream.py', 'from saccade.train import loop'),
        ('train/loop.py', 'from saccade.model.decoder import Decoder'),
        ('model/decoder.py', 'from saccade.build import build'),
        ('metric/entity.py', 'from saccade.ops.mask import Mask'),
        ('metric/entity.py', 'from saccade.data.text.stream import Split'),
        ('model/decoder.py', 'from saccade.metric.bootstrap import Measured'),
        ('data/text/stream.py', 'from saccade.metric import entity'),
        ('model/stack.py', 'import importlib'),
        ('model/stack.py', 'from importlib import import_module'),
        ('block/base.py', 'from .. import model'),
        ('sweep/engine.py', 'from saccade.cloud.launch import Launch'),
        ('analysis/report/page.py', 'from benchmarks.memory import memory'),
        ('train/loop.py', 'import torch'),
    ],
)
def test_a_breach_is_found(tmp_path, place, line):
    file = tmp_path / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(line)
    assert breaches(tmp_path) != []


@pytest.mark.parametrize(
    ('place', 'line'),
    [
        ('attention/kernel.py', 'from saccade.attention.cache import Cache\nfrom saccade.ops import mask'),
        ('build.py', 'import importlib\nfrom saccade.types import Part'),
        ('train/loop.py', 'from saccade.build import build\nfrom saccade.data.text.stream import Text'),
        ('task/tagging.py', 'from saccade.metric.entity import tagged'),
        ('metric/entity.py', 'from saccade.metric.bootstrap import Measured\nfrom saccade.types import UserError'),
    ],
)
def test_a_lawful_import_is_no_breach(tmp_path, place, line):
    file = tmp_path / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(line)
    assert breaches(tmp_path) == []


def test_a_foreign_import_of_an_experiment_is_found(tmp_path):
    config = tmp_path / 'mine.py'
    config.write_text('import math\nimport ml_collections\nimport saccade.types\nfrom jax import numpy')
    assert foreign(config) == {'saccade', 'jax'}
