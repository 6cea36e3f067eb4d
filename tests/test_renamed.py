# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Names that parts had: each leads to a part of now, and stored configs are read so."""

import json

import pytest

from saccade.build import fields, load, modules
from saccade.renamed import _FIELDS, _MODULES, _PARTS, present, present_spec, present_text
from saccade.types import UserError


@pytest.mark.parametrize('module', sorted(set(_MODULES.values())))
def test_a_module_of_now_is_there(module):
    assert list(modules(module))


@pytest.mark.parametrize('use', sorted(_PARTS))
def test_a_part_of_now_is_there(use):
    assert load(present(use)).__name__ == use.partition(':')[2]


def test_a_name_of_now_stays():
    for use in ('data.text.stream:TextData', 'data.text.marked:MarkedText', 'norm.rms:RMSNorm', 'my_lab.mine:Mine'):
        assert present(use) == use


def test_a_stored_config_is_read_with_the_names_of_now():
    stored = '{"data": {"use": "data.text:TextData", "tokenizer": {"use": "data.tokenizer:BPE"}}, "use": 3}'
    assert json.loads(stored, object_hook=present_spec) == {
        'data': {'use': 'data.text.stream:TextData', 'tokenizer': {'use': 'data.tokenizer.bpe:BPE'}},
        'use': 3,
    }


def test_fields_of_our_parts_are_renamed_and_no_others():
    kernel = {'use': 'attention.plain:Plain', 'weighting': 1}
    assert present_spec(kernel) == {'use': 'attention.plain:Plain', 'softmax': 1}
    assert present_spec({'use': 'recurrent.soft:Soft', 'weighting': 1})['softmax'] == 1
    assert present_spec({'use': 'attention.delta:Delta', 'fading': False})['decay'] is False
    pairs = {'use': 'data.parallel:Parallel', 'context': 8, 'source_context': 9}
    assert present_spec(pairs) == {
        'use': 'data.pairs.parallel:Parallel',
        'context_length': 8,
        'source_context_length': 9,
    }
    theirs = {'use': 'my_lab.mine:Mine', 'weighting': 1, 'fading': 2}
    assert present_spec(theirs) == theirs


@pytest.mark.parametrize(('name', 'use'), [(now, use) for (_, now), parts in _FIELDS.items() for use in parts.split()])
def test_a_renamed_field_is_there(name, use):
    assert name in fields(load(use))


def test_the_overrides_of_a_sweep_are_read_with_the_names_of_now():
    stored = "--config.model.weighting={'use': 'weighting.top_k:TopK', 'note': 'see data.text:TextData'}"
    assert present_text(stored) == stored.replace('weighting.top_k', 'softmax.top_k')
    stored = (
        '["--config.model.decoder.context=8", "--config.data.source_context=9", "context=8", "--config.my.context=1"]'
    )
    assert json.loads(present_text(stored)) == [
        '--config.model.decoder.context_length=8',
        '--config.data.source_context_length=9',
        'context=8',
        '--config.my.context=1',
    ]


def test_a_user_who_writes_a_name_of_then_is_told_that_of_now():
    with pytest.raises(UserError, match=r"did you mean 'recurrent\.cell\.lstm:LSTM'\?"):
        load('recurrent.lstm:LSTM')
