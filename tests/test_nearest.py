# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The field's other names for what we have."""

from collections import Counter

import pytest

from saccade.build import fields, load
from saccade.nearest import ELSEWHERE, _called, listed, nearest, ours, part_called, parts_called
from saccade.parts import parts
from saccade.train.experiment import Experiment


def test_a_name_of_another_library_leads_to_ours():
    names = ('hidden_size', 'n_layer', 'num_heads', 'kv_heads', 'qk_norm', 'hidden_act')
    assert [ours(name) for name in names] == ['width', 'layers', 'heads', 'key_value_heads', 'head_norm', 'activation']
    assert nearest('d_model', ['layers', 'width']) == "; did you mean 'width'?"
    assert nearest('widht', ['layers', 'width']) == "; did you mean 'width'?"
    assert nearest('zzz', ['layers', 'width']) == '; it has layers, width'


def test_of_many_names_the_most_alike_are_listed():
    names = [f'attention.kind_{number}' for number in range(300)] + ['norm.rms', 'norm.layer']
    found = listed(names, 'norm.zzzzzz')
    assert set(found.split(', ')[:2]) == {'norm.layer', 'norm.rms'}
    assert found.endswith(' and 294 more')
    assert len(found) < 250
    assert listed(names[:40]) == ', '.join(names[:40])
    assert nearest('zzz', names).endswith(' and 294 more')


def test_no_name_leads_to_two_of_ours():
    fields = [name for others in ELSEWHERE.values() for name in others.split()]
    called = [name for _, others in _called().values() for name in others]
    assert [name for name, count in Counter(fields).items() if count > 1] == []
    assert [name for name, count in Counter(called).items() if count > 1] == []
    assert len(called) > 40


@pytest.mark.long
def test_every_field_that_is_suggested_exists():
    known = {*fields(Experiment)}
    for module, names in parts().items():
        known |= {field for name in names for field in fields(load(f'{module}:{name}'))}
    assert {*ELSEWHERE} <= known


@pytest.mark.parametrize(
    ('use', 'part'),
    [
        ('attention.flash:FlashAttention', 'attention.blockwise:Blockwise'),
        ('attention.gqa:Mine', 'attention.multi_head:MultiHead'),
        ('position.rope:Mine', 'position.rotary:Rotary'),
        ('attention.sdpa:Mine', 'attention.plain:Plain'),
        ('feedforward.mine:SwiGLU', 'feedforward.gated:Gated'),
        ('block.denseformer:DWA', 'block.dense_former:DenseFormer'),
        ('ops.mask:sliding_window', 'ops.mask:Window'),
        ('norm.rmsnorm:RmsNorm', 'norm.rms:RMSNorm'),
        ('data.tokenizer:byte', 'data.tokenizer.byte:Byte'),
        ('attention.multi_head:MultiHead', None),
        ('my_lab.encoder:Mine', None),
    ],
)
def test_a_part_is_suggested_by_its_name_elsewhere_or_its_own(use, part):
    assert part_called(use) == part


@pytest.mark.parametrize(
    ('word', 'found'),
    [
        ('retention', ['attention.retention:Retention']),
        ('attention.retention', ['attention.retention:Retention']),
        ('rms', ['norm.rms:RMSNorm']),
        ('GQA', ['attention.multi_head:MultiHead']),
        ('mamba', ['attention.mamba2:Mamba2']),
        ('cosine', ['score.cosine:Cosine', 'train.schedule:Cosine']),
        ('zzz', []),
        ('', []),
    ],
)
def test_a_single_word_leads_to_the_parts_of_this_name(word, found):
    assert parts_called(word) == found
