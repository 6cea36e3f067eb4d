# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The field's other names for what we have."""

from collections import Counter

from saccade.build import load
from saccade.nearest import ELSEWHERE, PARTS, listed, nearest, ours, part_called


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
    for table in (ELSEWHERE, PARTS):
        counts = Counter(name for others in table.values() for name in others.split())
        assert [name for name, count in counts.items() if count > 1] == []


def test_every_part_that_is_suggested_exists():
    assert all(callable(load(part)) for part in PARTS)
    assert part_called('attention.flash:FlashAttention') == 'attention.blockwise:Blockwise'
    assert part_called('attention.multi_head:MultiHead') is None
