# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of a sentence encoder's folder: obeyed, refused by their names, or named in a warning; and written."""

import json
import re

import pytest

from saccade.hub.sentence import POOLS, SentenceSettings
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
    assert SentenceSettings.of_folder(write(tmp_path, config, 'Normalize')) == SentenceSettings(wanted)


def test_without_modules_it_is_the_mean(tmp_path):
    assert SentenceSettings.of_folder(tmp_path) == SentenceSettings(pool.mean)


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
        SentenceSettings.of_folder(write(tmp_path, config))


def test_a_module_that_is_not_supported_is_named(tmp_path):
    with pytest.raises(UserError, match=r'modules\.json: Transformer, Pooling, Dense: not supported; only Transformer'):
        SentenceSettings.of_folder(write(tmp_path, {}, 'Dense'))


@pytest.mark.parametrize(
    ('text', 'words'), [('{', 'cannot be read as JSON'), ('{}', 'must hold a JSON list'), ('[3]', '3: not supported')]
)
def test_damaged_modules_are_one_line(tmp_path, text, words):
    (tmp_path / 'modules.json').write_text(text)
    with pytest.raises(UserError, match=rf'modules\.json: {words}'):
        SentenceSettings.of_folder(tmp_path)


def test_the_length_of_a_text(tmp_path):
    (tmp_path / 'tokenizer_config.json').write_text('{"model_max_length": 1e30}')
    assert SentenceSettings.of_folder(tmp_path).length > 1 << 20
    (tmp_path / 'sentence_distilbert_config.json').write_text('{"max_seq_length": null}')
    (tmp_path / 'tokenizer_config.json').write_text('{"model_max_length": 512}')
    assert SentenceSettings.of_folder(tmp_path).length == 512
    (tmp_path / 'sentence_distilbert_config.json').write_text('{"max_seq_length": 128}')
    assert SentenceSettings.of_folder(tmp_path).length == 128


@pytest.mark.parametrize('length', ['0', '-1', 'true', '"128"', 'NaN'])
def test_a_length_that_is_none_is_refused(tmp_path, length):
    (tmp_path / 'sentence_bert_config.json').write_text(f'{{"max_seq_length": {length}}}')
    with pytest.raises(UserError, match=r'sentence_bert_config\.json: max_seq_length must be a positive number, not'):
        SentenceSettings.of_folder(tmp_path)


def test_settings_that_are_not_applied_are_named_in_a_warning(tmp_path, caplog):
    prompts = tmp_path / 'config_sentence_transformers.json'
    prompts.write_text('{"prompts": {"query": "", "document": ""}}')
    SentenceSettings.of_folder(tmp_path)
    assert not caplog.text
    prompts.write_text('{"prompts": {"query": "query: ", "document": ""}}')
    (tmp_path / 'sentence_bert_config.json').write_text('{"do_lower_case": true}')
    SentenceSettings.of_folder(tmp_path)
    assert "prompts are not added; write them before the texts: query 'query: '" in caplog.text
    assert 'do_lower_case: texts are not changed' in caplog.text


@pytest.mark.parametrize('pooling', POOLS.values())
def test_written_settings_are_read_again(tmp_path, pooling):
    settings = SentenceSettings(pooling, 128)
    for name, text in settings.files(32).items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert SentenceSettings.of_folder(tmp_path) == settings
