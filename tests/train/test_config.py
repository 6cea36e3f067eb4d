# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Configs from files and command lines."""

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
    config.model = dict(width=width, hidden=4 * width, pattern=[dict(width=width)],
                        norm=dict(use='norm.layer:LayerNorm', epsilon=1e-5))
    return config
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / 'config.py').write_text(CONFIG)
    return str(tmp_path / 'config.py')


def test_derived_fields_follow_an_override(file):
    model = load_config(file, ['--config.model.width=128'])['model']
    assert model['hidden'] == 512
    assert model['pattern'] == [{'width': 128}]


def test_a_part_is_swapped_whole_and_then_changed_within(file):
    swap = '--config.model.norm={"use": "norm.rms:RMSNorm", "epsilon": 1e-6}'
    config = load_config(file, [swap, '--config.model.norm.epsilon=1e-3'])
    assert config['model']['norm'] == {'use': 'norm.rms:RMSNorm', 'epsilon': 1e-3}


def test_values_take_the_type_of_the_field(file):
    config = load_config(file, ['--config.rate=1', '--config.name=3', '--config.path=a.txt'])
    assert config['rate'] == 1.0
    assert isinstance(config['rate'], float)
    assert config['name'] == '3'
    assert config['path'] == 'a.txt'


@pytest.mark.parametrize(
    ('override', 'words'),
    [
        ('--config.model.widht=3', "--config.model.widht: the config has no field 'widht'; did you mean 'width'?"),
        ('--config.modle.width=3', "did you mean 'model'?"),
        ('--config.rate.x=3', 'no fields below it'),
        ('--config.model.norm.use=norm.rms:RMSNorm', "keep the old part's arguments; swap the part as a whole"),
        ('--config.model.width=wide', "'wide' cannot be read as int"),
        ('--config.model.width=1.5', 'int'),
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
