# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Pooling by the modules of a sentence encoder's folder: obeyed, or refused by its name."""

import json
import re

import pytest

from saccade.hub.sentence import pooling_in
from saccade.ops import pool
from saccade.types import UserError


def write(folder, config, *after, kind='sentence_transformers.models.'):
    names = 'Transformer', 'Pooling', *after
    modules = [{'idx': at, 'name': str(at), 'type': f'{kind}{name}'} for at, name in enumerate(names)]
    (folder / 'modules.json').write_text(json.dumps(modules))
    (folder / '1_Pooling').mkdir()
    (folder / '1_Pooling/config.json').write_text(json.dumps(config))
    return folder


MODES = [
    ({}, pool.mean),
    ({'pooling_mode_cls_token': True, 'pooling_mode_mean_tokens': False}, pool.first),
    ({'pooling_mode_max_tokens': True, 'pooling_mode_mean_tokens': False}, pool.maximum),
    ({'pooling_mode_lasttoken': True, 'pooling_mode_mean_tokens': False, 'include_prompt': True}, pool.last),
    ({'pooling_mode': 'cls'}, pool.first),
    ({'pooling_mode': ['max']}, pool.maximum),
]


@pytest.mark.parametrize(('config', 'wanted'), MODES)
def test_the_pooling_that_the_folder_names(tmp_path, config, wanted):
    assert pooling_in(write(tmp_path, config, 'Normalize')) is wanted


def test_without_modules_it_is_the_mean(tmp_path):
    assert pooling_in(tmp_path) is pool.mean


REFUSED = [
    ({'pooling_mode_weightedmean_tokens': True, 'pooling_mode_mean_tokens': False}, 'pooling by weightedmean is not'),
    ({'pooling_mode_cls_token': True}, 'pooling by mean and cls is not supported; only by one of mean, cls, max'),
    ({'pooling_mode_mean_tokens': False}, 'pooling by none is not supported'),
    ({'pooling_mode': 3}, 'pooling by 3 is not supported'),
    ([], 'must hold a JSON object'),
]


@pytest.mark.parametrize(('config', 'words'), REFUSED)
def test_a_pooling_that_is_not_supported_is_named(tmp_path, config, words):
    with pytest.raises(UserError, match=f'^{re.escape(str(tmp_path))}/1_Pooling/config.json: {words}'):
        pooling_in(write(tmp_path, config))


def test_a_module_that_is_not_supported_is_named(tmp_path):
    with pytest.raises(UserError, match=r'modules\.json: Transformer, Pooling, Dense: not supported; only Transformer'):
        pooling_in(write(tmp_path, {}, 'Dense'))


@pytest.mark.parametrize(
    ('text', 'words'), [('{', 'cannot be read as JSON'), ('{}', 'must hold a JSON list'), ('[3]', '3: not supported')]
)
def test_damaged_modules_are_one_line(tmp_path, text, words):
    (tmp_path / 'modules.json').write_text(text)
    with pytest.raises(UserError, match=rf'modules\.json: {words}'):
        pooling_in(tmp_path)
