# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Names of runs: short, different, and fit to be folders."""

import re

import pytest

from saccade.sweep.naming import names, short_fields, short_value
from saccade.types import UserError

PLAIN, BLOCKWISE = 'attention.plain:Plain', 'attention.blockwise:Blockwise'


def of_values(*values, field='model.part'):
    return names([{field: value} for value in values])


@pytest.mark.parametrize(
    ('fields', 'short'),
    [
        (['model.block.mixer.heads'], ['heads']),
        (['model.width', 'model.block.feedforward.width'], ['model.width', 'feedforward.width']),
        (['model.norm', 'model.block.norm'], ['model.norm', 'block.norm']),
        (['schedule', 'schedule.peak'], ['schedule', 'peak']),
        (['width', 'model.width'], ['width', 'model.width']),
        (['a.b.c', 'd.b.c', 'c'], ['a.b.c', 'd.b.c', 'c']),
        (['model.tail', 'ail'], ['tail', 'ail']),
    ],
)
def test_a_field_is_as_few_of_its_last_names_as_tell_it_from_the_others(fields, short):
    assert list(short_fields(fields).values()) == short


def test_a_name_is_the_fields_and_values_in_the_order_of_the_point():
    assert names([{'model.layers': 2, 'model.block.mixer.heads': 1}, {'model.layers': 4}]) == [
        'layers=2,heads=1',
        'layers=4',
    ]


def test_the_point_that_changes_nothing_is_the_base():
    assert names([{}, {'model.layers': 2}]) == ['base', 'layers=2']


@pytest.mark.parametrize(
    ('value', 'word'),
    [(3, '3'), (1e-3, '0.001'), (True, 'True'), (None, 'None'), ([1, 2], '[1,2]'), ('gelu', 'gelu')],
)
def test_a_value_is_a_word(value, word):
    assert short_value(value) == word


def test_a_part_is_its_class():
    assert of_values({'use': PLAIN}, {'use': BLOCKWISE, 'key_block': 64}) == ['part=Plain', 'part=Blockwise']


def test_parts_of_one_class_show_the_arguments_in_which_they_differ():
    first, second = ({'use': BLOCKWISE, 'key_block': size, 'query_block': 8} for size in (32, 64))
    assert of_values({'use': PLAIN}, first, second) == [
        'part=Plain',
        'part=Blockwise+key_block=32',
        'part=Blockwise+key_block=64',
    ]


def test_parts_inside_parts_show_theirs_too():
    kernels = [{'use': BLOCKWISE, 'key_block': 32}, {'use': BLOCKWISE, 'key_block': 64}, {'use': PLAIN}]
    mixers = [{'use': 'attention.multi_head:MultiHead', 'heads': 2, 'kernel': kernel} for kernel in kernels]
    assert of_values(*mixers) == [
        'part=MultiHead+kernel=Blockwise+key_block=32',
        'part=MultiHead+kernel=Blockwise+key_block=64',
        'part=MultiHead+kernel=Plain',
    ]


def test_an_argument_that_only_one_part_has_tells_them_apart():
    assert of_values({'use': PLAIN}, {'use': PLAIN, 'query_chunks': 4}) == ['part=Plain', 'part=Plain+query_chunks=4']


def test_classes_of_one_name_are_told_apart_by_where_they_live():
    assert of_values({'use': 'norm.rms:RMSNorm'}, {'use': 'my_lab.norms:RMSNorm'}, {'use': 'a:B'}) == [
        'part=norm.rms-RMSNorm',
        'part=my_lab.norms-RMSNorm',
        'part=B',
    ]


def test_a_file_is_its_last_name_where_that_tells_it_from_the_others():
    assert of_values('/data/a/text.txt', '/data/b/code.txt', field='data.path') == ['path=text.txt', 'path=code.txt']
    assert of_values('/data/a/x.txt', '/data/b/x.txt', field='data.path') == [
        'path=-data-a-x.txt',
        'path=-data-b-x.txt',
    ]
    assert of_values('/data/a/', field='data.path') == ['path=-data-a']


def test_a_given_name_is_kept():
    assert names([{'name': 'deep', 'model.layers': 24}, {'model.layers': 2}]) == ['deep', 'layers=2']


@pytest.mark.parametrize(
    ('given', 'name'),
    [
        ('two words', 'two-words'),
        ('../../etc/passwd', 'etc-passwd'),
        ('..', 'base'),
        ('.hidden', 'hidden'),
        ('a/../b', 'a-..-b'),
        ('a\\b:c*d?', 'a-b-c-d'),
        ('[bold]x[/]', 'bold-x'),
        ('-rf', 'rf'),
        ('\x00\n', 'base'),
        ('größe=1', 'größe=1'),
        ('', 'layers=2'),
    ],
)
def test_a_name_is_one_folder_and_no_other(given, name):
    assert names([{'name': given, 'model.layers': 2}]) == [name]


@pytest.mark.parametrize('letter', ['x', 'ö', '語', '\N{OLD ITALIC LETTER A}'])
@pytest.mark.parametrize('length', [50, 110, 300])
def test_a_very_long_name_is_cut_to_what_a_folder_may_have_and_stays_its_own(letter, length):
    long = letter * length
    found = names([{'name': f'{long}1'}, {'name': f'{long}2'}])
    assert len(set(found)) == 2
    for name, given in zip(found, (f'{long}1', f'{long}2'), strict=True):
        assert len(f'{name},seed=1000000'.encode()) <= 200
        assert name == given or re.fullmatch(rf'{letter}{{20,}}-[0-9a-f]{{8}}', name)


@pytest.mark.parametrize(
    'points',
    [
        [{'model.layers': 2}, {'model.layers': 4}, {'model.layers': 2}],
        [{'name': 'a', 'model.layers': 2}, {'name': 'a', 'model.layers': 4}],
        [{'data.path': 'a b'}, {'data.path': 'a-b'}],
        [{}, {}],
    ],
)
def test_two_of_one_name_are_refused(points):
    with pytest.raises(UserError, match=r'^runs: 2 of them are .*; they must differ, or have names'):
        names(points)


def test_the_word_of_a_part_that_is_none_waits_for_whoever_builds_it():
    assert short_value({'use': 3}) == '3'
