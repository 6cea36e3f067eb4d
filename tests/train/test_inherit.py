# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""A config that takes its model from where its weights come from."""

import json

import pytest

from saccade.train.config import load_config
from saccade.types import UserError

CONFIG = """
from ml_collections import ConfigDict

def get_config():
    config = ConfigDict()
    config.init_from = ''
    config.init_part = ''
    config.inherit = 'model'
    config.model = dict(use='model.encoder:Encoder', width=8, dropout=0.5, heads=dict(pooled=dict(classes=3)))
    config.pair = dict(width=8, teacher=None)
    config.both = dict(encoder=dict(use='model.encoder:Encoder', width=8, heads=dict()), decoder=dict(width=8))
    return config
"""
HEADS = {'pooled': {'classes': 3}}
ENCODER = {'use': 'model.encoder:Encoder', 'width': 16, 'dropout': 0.0, 'heads': {'masked': {}, 'pooled': {}}}
DECODER = {'use': 'model.decoder:Decoder', 'width': 16}
ELECTRA = {'use': 'model.together:Electra', 'generator': ENCODER, 'discriminator': ENCODER | {'width': 32}}


@pytest.fixture
def config(tmp_path):
    """A function of the model of a run, and of overrides: the config that starts from this run."""
    (tmp_path / 'config.py').write_text(CONFIG)
    (tmp_path / 'run/checkpoints').mkdir(parents=True)

    def load(spec, *fields):
        every_run_has = {'seed': 0, 'steps': 1, 'task': {}, 'data': {}}
        (tmp_path / 'run/config.json').write_text(json.dumps({**every_run_has, 'model': spec}))
        fields = (*fields, f'init_from={tmp_path}/run')
        return load_config(str(tmp_path / 'config.py'), [f'--config.{field}' for field in fields])

    return load


def test_without_a_run_it_has_its_own_model(tmp_path):
    (tmp_path / 'config.py').write_text(CONFIG)
    assert load_config(str(tmp_path / 'config.py'))['model']['width'] == 8


def test_the_model_is_that_of_the_run_with_heads_of_its_own(config):
    assert config(ENCODER)['model'] == ENCODER | {'heads': HEADS}


def test_overrides_change_the_model_that_was_taken_wherever_they_stand(config):
    found = config(ENCODER, 'model.dropout=0.2', 'model.heads.pooled.classes=5')
    assert found['model'] == ENCODER | {'dropout': 0.2, 'heads': {'pooled': {'classes': 5}}}


def test_a_config_that_leaves_these_fields_at_their_defaults_takes_a_model_too(config, tmp_path):
    bare = (
        'from ml_collections import ConfigDict\n\ndef get_config():\n    return ConfigDict(dict(model=dict(width=8)))'
    )
    (tmp_path / 'bare.py').write_text(bare)
    config(ENCODER)  # makes the run
    fields = ['--config.inherit=model', f'--config.init_from={tmp_path}/run']
    assert load_config(str(tmp_path / 'bare.py'), fields)['model'] == ENCODER
    assert load_config(str(tmp_path / 'bare.py'), fields[:1])['model'] == {'width': 8}


def test_a_place_that_has_no_heads_takes_those_of_the_run(config):
    found = config(ENCODER, 'inherit=pair.teacher')
    assert found['pair'] == {'width': 8, 'teacher': ENCODER}
    assert found['model']['width'] == 8


def test_an_encoder_that_another_model_reads_with_keeps_no_head(config):
    found = config(ENCODER, 'inherit=both.encoder')['both']
    assert found == {'encoder': ENCODER | {'heads': {}}, 'decoder': {'width': 8}}


def test_a_part_of_the_run_is_taken_by_its_name(config):
    assert config(ELECTRA, 'init_part=discriminator')['model'] == ELECTRA['discriminator'] | {'heads': HEADS}


def test_a_decoder_may_stand_where_no_head_reads(config):
    assert config(DECODER, 'inherit=pair.teacher')['pair']['teacher'] == DECODER


@pytest.mark.parametrize(
    ('spec', 'field', 'words'),
    [
        (DECODER, 'init_part=', r'config.init_from=.*run: model.decoder:Decoder has no heads; this takes an encoder'),
        (
            ELECTRA,
            'init_part=student',
            r"config.init_part: .* has no part 'student'; .* generator, discriminator",
        ),
        (ENCODER, 'inherit=modle', r"config.inherit: the config has no field 'modle'"),
        (ENCODER, 'inherit=pair.student', r"config.inherit: the config has no field 'pair.student'"),
        (ENCODER, 'inherit=model.width.teacher', r"config.inherit: the config has no field 'model.width.teacher'"),
    ],
)
def test_what_cannot_be_taken_is_refused_in_one_line(config, spec, field, words):
    with pytest.raises(UserError, match=f'^{words}[^\n]*$'):
        config(spec, field)


def test_a_place_that_holds_no_model_is_refused(config, tmp_path):
    (tmp_path / 'config.py').write_text(CONFIG.replace('    return', '    config.seed = 5\n    return'))
    with pytest.raises(UserError, match=r'^config.inherit: config.seed is 5, not a model$'):
        config(ENCODER, 'inherit=seed')


@pytest.mark.parametrize('field', ['inherit', 'init_from', 'init_part'])
def test_a_field_that_is_not_text_is_refused(tmp_path, field):
    (tmp_path / 'config.py').write_text(f'def get_config(): return {{"inherit": "model", "model": None, "{field}": 3}}')
    with pytest.raises(UserError, match=rf'^config.{field}: must be text, not 3$'):
        load_config(str(tmp_path / 'config.py'))


def test_a_place_that_is_empty_needs_a_run(tmp_path):
    (tmp_path / 'config.py').write_text(CONFIG)
    with pytest.raises(UserError, match=r'^config.init_from: give the run.* of pair\.teacher$'):
        load_config(str(tmp_path / 'config.py'), ['--config.inherit=pair.teacher'])
