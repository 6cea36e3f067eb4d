# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Configs from files and command lines."""

import sys
from pathlib import Path

import pytest

from saccade.train.config import load_config
from saccade.types import UserError

CONFIG = """
from ml_collections import ConfigDict, FieldReference
from ml_collections.config_dict import placeholder

def get_config():
    width = FieldReference(64)
    config = ConfigDict()
    config.rate = 0.5
    config.name = 'plain'
    config.path = placeholder(str)
    config.logging = []
    config.model = dict(width=width, hidden=4 * width, pattern=[dict(width=width, rate=0.5), dict(width=width)],
                        norm=dict(use='norm.layer:LayerNorm', epsilon=1e-5))
    return config
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / 'config.py').write_text(CONFIG)
    return str(tmp_path / 'config.py')


def test_a_part_that_stands_in_two_places_is_overridden_in_one(tmp_path):
    again = ['config.model.last = config.model.norm', 'config.twice = [config.model.norm]', 'return config']
    shared = CONFIG.replace('    return config\n', ''.join(f'    {line}\n' for line in again))
    (tmp_path / 'shared.py').write_text(shared)
    found = load_config(str(tmp_path / 'shared.py'), ['--config.model.norm.epsilon=0.5', '--config.model.width=128'])
    assert found['model']['norm']['epsilon'] == 0.5
    assert found['model']['last']['epsilon'] == found['twice'][0]['epsilon'] == 1e-5
    assert found['model']['hidden'] == 512  # references are still shared


def test_derived_fields_follow_an_override(file):
    model = load_config(file, ['--config.model.width=128'])['model']
    assert model['hidden'] == 512
    assert model['pattern'] == [{'width': 128, 'rate': 0.5}, {'width': 128}]


def test_an_item_of_a_list_goes_by_its_number(file):
    model = load_config(file, ['--config.model.pattern.1.width=32', '--config.model.pattern.0.rate=1'])['model']
    assert model['width'] == 32
    assert model['pattern'] == [{'width': 32, 'rate': 1.0}, {'width': 32}]


def test_a_part_is_swapped_whole_and_then_changed_within(file):
    swap = '--config.model.norm={"use": "norm.rms:RMSNorm", "epsilon": 1e-6}'
    config = load_config(file, [swap, '--config.model.norm.epsilon=1e-3'])
    assert config['model']['norm'] == {'use': 'norm.rms:RMSNorm', 'epsilon': 1e-3}


def test_values_take_the_type_of_the_field(file):
    config = load_config(file, ['--config.rate=1', '--config.name=3', '--config.path=12'])
    assert config['rate'] == 1.0
    assert isinstance(config['rate'], float)
    assert config['name'] == '3'
    assert config['path'] == '12'  # a placeholder of text


@pytest.mark.parametrize(
    ('override', 'words'),
    [
        ('--config.model.widht=3', "--config.model.widht: the config has no field 'widht'; did you mean 'width'?"),
        ('--config.modle.width=3', "did you mean 'model'?"),
        ('--config.rate.x=3', 'no fields below it'),
        ('--config.model.norm.use=norm.rms:RMSNorm', "keep the old part's arguments; swap the part as a whole"),
        ('--config.model.width=wide', "'wide' cannot be read as int"),
        ('--config.model.width=1.5', 'int'),
        ('--config.model.pattern.2.width=3', "the config has no field '2'; there are 0, 1"),
        ('--config.model.pattern.0.widht=3', "did you mean 'width'?"),
        ('--config.model.pattern.0.rate=fast', "'fast' cannot be read as float"),
        ('--config.model.norm=3', "write a dict, as in {'use': ...}"),
        ("--config.logging={'use': 'a:B'}", "write a list, as in [{'use': 'a:B'}]"),
        ('--config.rate', 'write an override as --config.field=value'),
    ],
)
def test_a_wrong_override_is_refused_naming_the_field(file, override, words):
    with pytest.raises(UserError) as refusal:
        load_config(file, [override])
    assert words in str(refusal.value)
    assert '\n' not in str(refusal.value)


def test_a_file_that_is_no_config_is_refused(tmp_path):
    with pytest.raises(UserError, match='there is no such file'):
        load_config(str(tmp_path / 'absent.py'))
    (tmp_path / 'wrong.py').write_text('first = 1\ndef get_config(:')
    with pytest.raises(UserError, match=r'wrong\.py: line 2: '):
        load_config(str(tmp_path / 'wrong.py'))
    (tmp_path / 'empty.py').write_text('')
    with pytest.raises(UserError, match='get_config'):
        load_config(str(tmp_path / 'empty.py'))


def two_folders(tmp_path: Path) -> list[Path]:
    """Configs that import a file beside them of one name, `beside`, of which each folder has its own."""
    for name in ('first', 'second'):
        folder = tmp_path / name
        folder.mkdir()
        (folder / 'beside.py').write_text(
            f'from ml_collections import ConfigDict\nbase = ConfigDict(dict(name={name!r}))'
        )
        (folder / 'config.py').write_text('from beside import base\ndef get_config():\n    return base')
        (folder / 'late.py').write_text('def get_config():\n    from beside import base\n    return base')
    return [tmp_path / name for name in ('first', 'second')]


def test_a_config_imports_the_files_beside_it_and_no_others(tmp_path, monkeypatch):
    first, second = two_folders(tmp_path)
    paths, modules = list(sys.path), set(sys.modules)
    for file in ('config.py', 'late.py'):
        assert load_config(str(first / file)) == {'name': 'first'}
        assert load_config(str(second / file)) == {'name': 'second'}
    monkeypatch.chdir(first)
    assert load_config('config.py', ['--config.name=changed']) == {'name': 'changed'}
    assert (sys.path, 'beside' in sys.modules) == (paths, False)
    assert set(sys.modules) == modules


def test_a_config_imports_the_files_above_it_that_nothing_installed_is_called_like(tmp_path):
    paths, modules = list(sys.path), set(sys.modules)
    for name in ('first', 'second'):
        (tmp_path / name / 'below').mkdir(parents=True)
        (tmp_path / name / 'above.py').write_text(f'name = {name!r}')
        (tmp_path / name / 'tabnanny.py').write_text('raise AssertionError')  # Python has one, which is not loaded yet
        (tmp_path / name / 'below' / 'config.py').write_text(
            'import tabnanny\nfrom above import name\nfrom ml_collections import ConfigDict\n'
            'def get_config():\n    return ConfigDict(dict(name=name))'
        )
        assert load_config(str(tmp_path / name / 'below' / 'config.py')) == {'name': name}
    assert (sys.path, set(sys.modules)) == (paths, modules)


def test_what_a_config_imports_and_cannot_have_is_named(tmp_path):
    first, _ = two_folders(tmp_path)
    (first / 'beside.py').unlink()
    with pytest.raises(UserError, match=r"config\.py: No module named 'beside'; it may import files beside it"):
        load_config(str(first / 'config.py'))
    (first / 'beside.py').write_text('base = (')
    with pytest.raises(UserError, match=r'config\.py: beside\.py: line 1: '):
        load_config(str(first / 'config.py'))
