# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The one list of parts: who may be in it, and what follows from it."""

import ast
import dataclasses
import importlib
import inspect
import json
import os
import shutil
import subprocess
import sys
import types
import typing
from collections.abc import Mapping
from pathlib import Path

import pytest

from saccade.build import fields
from saccade.parts import parts
from saccade.types import Part

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / 'src/saccade'
MODULES = {
    '.'.join(file.relative_to(SOURCE).with_suffix('').parts): file
    for file in SOURCE.rglob('*.py')
    if file.name != '__init__.py'
}
NUMBERS_AND_TEXT = (int, float, bool, str, tuple, list, dict, set, type(None))


def declarations(file):
    """Statements of a file in which the name `__all__` occurs in any way."""
    if '__all__' not in file.read_text():
        return []
    body = ast.parse(file.read_text()).body
    return [node for node in body for each in ast.walk(node) if getattr(each, 'id', '') == '__all__']


def test_what_is_read_from_the_sources_is_what_python_sees():
    """The list is found by its look, so it must have one form, at the top of a file."""
    for module, file in MODULES.items():
        found = declarations(file)
        assert len(found) == (module in parts()), file
        if found:
            assert isinstance(found[0], ast.Assign), file
            assert tuple(ast.literal_eval(found[0].value)) == parts()[module], file
    assert {*parts()} <= {*MODULES}
    assert len(parts()) > 200


def test_files_of_other_kinds_have_no_list():
    others = [file for folder in ('experiments', 'launch') for file in (ROOT / folder).rglob('*.py')]
    packages = [*SOURCE.rglob('__init__.py')]
    bases = [file for file in MODULES.values() if file.stem.split('_')[-1] == 'base']
    assert min(len(others), len(packages), len(bases)) > 20
    assert [file for file in (*others, *packages, *bases) if '__all__' in file.read_text()] == []


def why_not(module, name):
    """What keeps a name from being one that a config may give, if anything does."""
    (here, *_) = [
        each for each in ast.parse(MODULES[module].read_text()).body if getattr(each, 'name', '') == name
    ] or [None]
    if here is None or name.startswith('_'):
        return 'the file defines no such class or function'
    made = getattr(importlib.import_module(f'saccade.{module}'), name)
    untold = [field for field, (hint, required) in fields(made).items() if required and not _can_be_written(hint)]
    if untold:
        return f'no config can give its {untold[0]}'
    if isinstance(made, type):
        whole = dataclasses.is_dataclass(made) and not getattr(made, '_is_protocol', False)
        return '' if whole else 'it is a class without fields'
    kinds = [parameter.kind for parameter in inspect.signature(made).parameters.values()]
    result = typing.get_type_hints(made).get('return')
    result = typing.get_origin(result) or result
    if inspect.Parameter.POSITIONAL_ONLY not in kinds and result in NUMBERS_AND_TEXT:
        return 'it neither takes anything from its caller, in front of a /, nor makes anything'
    return ''


def _can_be_written(hint):
    """Whether a config can hold a value of a type: numbers, texts, parts, and lists and dicts of them."""
    if hint in (int, float, bool, str, type(None), Part, ...):
        return True
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Part, typing.Literal):
        return True
    if hasattr(hint, '__metadata__'):  # a number within a range; a trainer may scale it by an array
        return any(map(_can_be_written, _alternatives(inner[0])))
    return origin in (tuple, Mapping, typing.Union, types.UnionType) and all(map(_can_be_written, inner))


def _alternatives(hint):
    return typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)


@pytest.mark.long
def test_only_parts_are_listed():
    found = {f'{module}:{name}': why_not(module, name) for module, names in parts().items() for name in names}
    assert {part: why for part, why in found.items() if why} == {}


@pytest.mark.parametrize(
    'helper',
    [
        'attention.base:nn',
        'attention.multi_head:attended_pairs',
        'attention.multi_head:SourceKeys',
        'data.tokenizer.trainer:Trainer',
        'metric.answer:f1',
        'ops.flops:_count',
        'ops.mask:MaskBase',
        'ops.rotary:rotate',
        'ops.masking:budget',
        'recurrent.cell.lstm:LSTMState',
        'recurrent.cell.lstm:advance',
        'train.optimizer:path_of',
        'train.workdir:write_atomically',
    ],
)
def test_a_helper_would_be_refused(helper):
    module, _, name = helper.partition(':')
    assert why_not(module, name)
    assert name not in parts().get(module, ())


NEW_FILES = {
    'norm/dropped_in.py': '''
"""Dropped-in norm, https://example.org, 2026."""

import flax.linen as nn

__all__ = ['DroppedIn']


class DroppedIn(nn.Module):
    """Dropped-in norm.

    Also called: fallen norm.
    """

    def __call__(self, x, real=None):
        return helper(x)


def helper(x):
    return x
''',
    'data/tokenizer/dropped_in.py': '''
"""Dropped-in tokenizer."""

from dataclasses import dataclass

from saccade.data.tokenizer.trainer import Reserving

__all__ = ['Runes']


@dataclass(frozen=True)
class Runes(Reserving):
    """Runes. Attributes: vocabulary: tokens at most."""

    vocabulary: int
''',
    'data/text/dropped_in.py': '''
"""Dropped-in data."""

from dataclasses import dataclass

from saccade.types import Part

__all__ = ['Sagas']


@dataclass(frozen=True)
class Sagas:
    """Sagas. Attributes: tokenizer: of their runes."""

    tokenizer: Part
''',
}
ASK = """
import json, sys
from saccade.trust import require_trusted
from saccade.completion import candidates

parts = ('norm.dropped_in:DroppedIn', 'data.tokenizer.dropped_in:Runes', 'data.text.dropped_in:Sagas')
for part in parts:
    require_trusted({'use': part}, 'config.json')
completed = [candidates(['fields', part[:-2]], {'fields': None}) for part in parts]
assert 'jax' not in sys.modules

import saccade
from saccade.analysis import reference
from saccade.analysis.catalogue.catalogue import NORM, Catalogue
from saccade.nearest import part_called
from saccade.types import UserError

def refused(use):
    try:
        require_trusted({'use': use}, 'config.json')
    except UserError:
        return True

print(json.dumps({
    'tree': saccade.__file__,
    'completed': completed,
    'in the reference': [f'`{part}`' in reference.room_page(part.partition('.')[0]) for part in parts],
    'on its page': [f'`{part}`' in reference.module_page('saccade.' + part.partition(':')[0]) for part in parts],
    'in the catalogue': 'DroppedIn' in Catalogue.ours().specs(NORM),
    'by attribute': saccade.norm.DroppedIn.__name__,
    'suggested': [part_called('norm.fallen_norm:Mine'), part_called('data:runes'), part_called('sagas:Sagas')],
    'helper refused': refused('norm.dropped_in:helper'),
}))
"""


@pytest.mark.long
def test_a_new_part_is_one_file(tmp_path):
    """A norm, a tokenizer and a dataset are dropped into a copy of the package, and nothing else is touched."""
    shutil.copytree(SOURCE, tmp_path / 'saccade', ignore=shutil.ignore_patterns('__pycache__'))
    for path, text in NEW_FILES.items():
        (tmp_path / 'saccade' / path).write_text(text)
    places = {**os.environ, 'PYTHONPATH': str(tmp_path)}
    said = subprocess.run([sys.executable, '-c', ASK], env=places, cwd=tmp_path, capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    norm, tokenizer, data = 'norm.dropped_in:DroppedIn', 'data.tokenizer.dropped_in:Runes', 'data.text.dropped_in:Sagas'
    assert json.loads(said.stdout.splitlines()[-1]) == {
        'tree': str(tmp_path / 'saccade/__init__.py'),
        'completed': [[norm], [tokenizer], [data]],
        'in the reference': [True, True, True],
        'on its page': [True, True, True],
        'in the catalogue': True,
        'by attribute': 'DroppedIn',
        'suggested': [norm, tokenizer, data],
        'helper refused': True,
    }
