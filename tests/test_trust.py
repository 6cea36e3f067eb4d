# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Which names the config of somebody else's run may hold."""

import importlib
import re
from pathlib import Path

import pytest
import reaching

from saccade.analysis.reference import value_words
from saccade.build import defaults
from saccade.parts import parts
from saccade.trust import THEIRS, VARIABLE, foreign, require_trusted, trust
from saccade.types import UserError

ROOT = Path(__file__).parents[1]
FOLDERS = ('docs', 'experiments', 'src/saccade/hub', 'src/saccade/train')
SHIPPED = sorted(
    {
        use
        for file in [ROOT / 'README.md', *(file for folder in FOLDERS for file in (ROOT / folder).rglob('*.[pm][yd]'))]
        if ROOT / 'docs/reference' not in file.parents  # generated
        for use in re.findall(r"""['"]?use['"]?[=:] ?['"]([\w.]+:\w+)['"]""", file.read_text())
    }
)
HOSTILE = (
    'os:system',
    'builtins:exec',
    'subprocess:run',
    'my_lab.mine:Mine',
    'jax:pure_callback',
    'jax.numpy:save',
    'jax.experimental:io_callback',
    'optax:inject_hyperparams',
    'flax.linen:Module',
    'train.config_file:run_file',
    'train.workdir:write_atomically',
    'data.corpus.prepare:prepare',
    'data.corpus.pydocs:PyDocs',
    'build:load',
    'saccade.build:load',
    'hub.load:load',
    'studies.five_steps:build',
    'attention.base:nn',  # imported there, not defined there
    'attention.multi_head:attended_pairs',  # a helper of a file with parts
    'task.base:TaskBase',
    'data.tokenizer.trainer:Trainer',
    'train.optimizer:path_of',
    'saccade:parts',
    '__init__:lazy_names',
    'ops.flops:_count',
    'ops.no_such_file:system',
    'ops..mask:Causal',
    '../ops.mask:Causal',
    'ops/mask:Causal',
    'ops.mask:Causal.__init__',
    'ops.mask:',
    ':system',
    '',
)


@pytest.fixture(autouse=True)
def nothing_trusted(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)


@pytest.mark.parametrize('use', SHIPPED)
def test_every_part_that_ships_may_be_named(use):
    if not use.startswith('my_'):
        require_trusted({'model': {'use': use}}, 'config.json')


def test_every_default_may_be_named():
    """A config may write what a part has by default, by the name that the reference prints."""
    for module, names in parts().items():
        for name in names:
            part = getattr(importlib.import_module(f'saccade.{module}'), name)
            shown = str([value_words(value) for value in defaults(part).values()])
            for use in re.findall(r"'use': \\?'([\w.]+:\w+)", shown):
                require_trusted({'model': {'use': use}}, f'{module}:{name}')


@pytest.mark.parametrize('use', HOSTILE)
def test_everything_else_is_refused_before_it_is_imported(use):
    with pytest.raises(UserError, match=r'^config\.json: model\.mask\.use: '):
        require_trusted({'model': {'use': 'model.decoder:Decoder', 'mask': {'use': use}}}, 'config.json')


@pytest.mark.parametrize('use', [['os:system'], {'use': 'os:system'}, 3, None])
def test_a_name_that_is_no_text_is_refused(use):
    with pytest.raises(UserError, match='use: '):
        require_trusted({'task': [{'use': use}]}, 'config.json')


def test_the_field_the_name_and_the_flag_are_said():
    with pytest.raises(
        UserError,
        match=r"model\.block\.0\.mixer\.use: 'my_lab\.mine:Mine' .* add --trust=my_lab\.mine:Mine \(in",
    ):
        require_trusted({'model': {'block': [{'mixer': {'use': 'my_lab.mine:Mine'}}]}}, 'runs/a/config.json')


def test_all_foreign_names_are_said_at_once():
    config = {'model': {'use': 'my_lab.mine:Mine'}, 'task': {'use': 'others:Task', 'norm': {'use': 'my_lab.mine:Mine'}}}
    with pytest.raises(UserError) as refusal:
        require_trusted(config, 'config.json')
    assert str(refusal.value) == (
        "config.json: model.use: 'my_lab.mine:Mine', task.norm.use: 'my_lab.mine:Mine', task.use: 'others:Task' are no "
        'part of Saccade, and opening would run them; if you trust whoever wrote it, add '
        '--trust=my_lab.mine:Mine,others:Task (in Python, set SACCADE_TRUST)'
    )
    trust(['my_lab.mine:Mine', 'others:Task'])
    require_trusted(config, 'config.json')


@pytest.mark.parametrize('use', ['os:system', 'numpy:save', 'torch:load', 'pip:main', 'build:load', 'trust:trust'])
def test_no_flag_is_proposed_that_would_run_installed_code(use):
    if use == 'torch:load':
        pytest.importorskip('torch')
    with pytest.raises(UserError, match=r'it is not opened$'):
        require_trusted({'model': {'use': use}, 'task': {'use': 'my_lab:Task'}}, 'config.json')


@pytest.mark.parametrize('module', ['numpy', 'optax', 'os', 'saccade', 'build', 'data.corpus'])
def test_installed_code_is_not_trusted_as_a_whole(module):
    with pytest.raises(UserError, match=r'is installed code; trust exact names of it'):
        trust([module])


def test_an_exact_name_of_installed_code_may_be_trusted():
    trust(['optax:inject_hyperparams'])
    require_trusted({'optimizer': {'rule': {'use': 'optax:inject_hyperparams'}}}, 'config.json')
    with pytest.raises(UserError):
        require_trusted({'optimizer': {'rule': {'use': 'optax:chain'}}}, 'config.json')


def test_a_trusted_module_and_those_below_it_may_be_named():
    trust(['my_lab'])
    require_trusted({'model': {'use': 'my_lab:Mine', 'mask': {'use': 'my_lab.deep.mine:Mine'}}}, 'config.json')
    for use in ('my_lab_of_others:Mine', 'os:system'):
        with pytest.raises(UserError):
            require_trusted({'model': {'use': use}}, 'config.json')


@pytest.mark.parametrize('module', ['my_lab:', 'my_lab:a.b', ':Mine', '../my_lab', 'my lab', ''])
def test_only_a_name_or_a_module_can_be_trusted(module):
    with pytest.raises(UserError, match='name a class or function'):
        trust([module])


def test_foreign_names_are_those_to_trust():
    config = {
        'model': {'use': 'my_lab.mine:Mine', 'norm': {'use': 'norm.rms:RMSNorm'}},
        'data': {'use': 'corpora:Mine'},
    }
    assert foreign(config) == ['corpora:Mine', 'my_lab.mine:Mine']


def test_every_name_from_other_libraries_exists():
    missing = [
        f'{module}:{name}' for module, names in THEIRS.items() for name in names.split() if not _has(module, name)
    ]
    assert missing == []
    assert {module.partition('.')[0] for module in THEIRS} <= {'jax', 'optax', 'flax'}


def _has(module, name):
    return hasattr(importlib.import_module(module), name)


# What parts may reach of that which opens, writes, executes or imports: each definition with all that is found in it.
ALLOWED = {
    # Prepared data and trained tokenizers are kept in the cache folder of Saccade, under names made of digests.
    'data.cache:GrowingArray': 'open',
    'data.cache:_drafted': 'mkdir rename rmtree shutil tempfile',
    'data.cache:_locked': 'open os',
    'data.cache:_publish': 'os rename',
    'data.cache:_sha256': 'open',
    'data.cache:cached': 'open os rmtree shutil write_text',
    'data.cache:read_arrays': 'load',
    'data.cache:write_arrays': 'mkdir save',
    'data.encoder.passages:Passages': 'mkdir',
    'data.text.stream:TextData': 'mkdir',
    # The tokenizer or processor of a run is written into the folder that the run gives it, not the config.
    'data.whole_file:write_whole': 'os unlink write_text',
    # Data whose path the config names is read; `io` and `StringIO` work in memory.
    'data.corpus.files:opened': 'open',
    'data.corpus.files:visible_files': 'os',
    'data.corpus.record_files:_separated': 'io',
    'data.corpus.row_files:ByteFile': 'open',
    'data.image.rows:ImageFiles': 'open',
    'paths:read_regular': 'open os',
    # Datasets of TFDS: its download is tried where the network answers, and its folder is checked for code of its own.
    'data.corpus.named:_has_tensorflow': 'importlib',
    'data.corpus.named:_refuse_unreachable': 'urllib',
    'data.corpus.named:is_answering': 'urllib',
    'data.corpus.named:reachable': 'threading',
    'data.corpus.prepare:prepare': 'rename',
    'data.corpus.prepare:quiet': 'io',
    # The documentation of Python and of fixed libraries is found and read, and not imported.
    'data.corpus.docstrings:records': 'read_bytes',
    'data.corpus.pydocs:_roots': 'importlib',
    'data.corpus.pydocs:documents': 'read_bytes',
    'data.corpus.pydocs:fingerprint': 'sys',
    'data.corpus.pydocs:versions': 'importlib',
    # What the library of tokenizers prints when it panics is caught in a temporary file.
    'data.tokenizer.foreign:opening': 'os sys tempfile',
    # The sink of Weights and Biases keeps its run's id in the folder of the run.
    'train.log.wandb:WandB': 'read_text sys',
    'train.log.wandb:_library': 'wandb',
    'train.workdir:sync_folder': 'open os',
    'train.workdir:write_atomically': 'open os unlink',
    'train.workdir:writing': 'shutil',
}

# A part that is made in Python builds the parts that its dicts name, as a config is built: by `use`. Each `use` of a
# config, at any depth, is checked before the first part is made.
BUILDING = {
    'build:_import': 'importlib',
    'build:_packages': 'pkgutil',
    'build:_siblings': 'importlib os pkgutil',
    'parts:sources': 'read_text',
}


def reached_by_parts():
    """Each part that reaches something dangerous, with where it does and what it is."""
    for module, names in parts().items():
        for name in names:
            found = {
                f'{place.removeprefix("saccade.")}:{held}': dangers
                for (place, held), dangers in reaching.reached(f'saccade.{module}', name).items()
                if dangers
            }
            if found:
                yield f'{module}:{name}', found


@pytest.mark.long
def test_no_part_reaches_what_opens_writes_executes_or_imports():
    """A config may call a part with any arguments. Calls are followed through the whole package."""
    found, rooms = {}, set()
    for part, places in reached_by_parts():
        found |= {place: ' '.join(sorted(dangers)) for place, dangers in places.items()}
        if places.keys() - BUILDING.keys():
            rooms.add(part.partition('.')[0] if part != 'train.log.wandb:WandB' else part)
    assert found == ALLOWED | BUILDING
    assert rooms == {'data', 'train.log.wandb:WandB'}


SAFE = """import jax
import json
import numpy as np
from dataclasses import dataclass
from pathlib import Path

from saccade.norm import base as helper

@dataclass
class Mine(helper.Base):
    size: int = 3

    def __call__(self, path: Path) -> Path:
        load = self.size
        return np.square(json.loads(path.name.replace('a', 'b'))) + load
"""


@pytest.mark.parametrize(
    ('line', 'found'),
    [
        ("open('it')", 'open'),
        ('list(map(eval, self.size))', 'eval'),
        ('np.save(path, 3)', 'save'),
        ('np.lib.format.open_memmap(path)', 'open_memmap'),
        ('jax.experimental.io_callback(print, 3)', 'io_callback'),
        ("path.write_text('')", 'write_text'),
        ('import os; os.system(path)', 'os'),
        ('import os.path as where; where.exists(path)', 'os'),
        ('from subprocess import run; run(path)', 'subprocess'),
        ('from numpy import load as read; read(path)', 'load'),
        ("__import__('os')", '__import__'),
        ("__builtins__['exec']", '__builtins__'),
    ],
)
def test_code_that_touches_files_is_found(line, found, monkeypatch):
    assert not any(reaching.dangers(held, reaching.read(SAFE)) for held in reaching.read(SAFE).defined.values())
    imports = 'import jax\nimport numpy as np\n\n'
    files = {
        'saccade.norm.mine': SAFE,
        'saccade.norm.base': 'from saccade.norm.deeper import Base\n',
        'saccade.norm.deeper': f'{imports}def helped(path):\n    {line}\n\nclass Base:\n    keep = helped\n',
    }
    monkeypatch.setattr(reaching, 'read_module', lambda name: reaching.read(files.get(name, '')))
    reached = reaching.reached('saccade.norm.mine', 'Mine')
    assert {place: dangers for place, dangers in reached.items() if dangers} == {
        ('saccade.norm.deeper', 'helped'): {found}
    }
