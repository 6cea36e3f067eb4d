# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""What a program sends is counted by hand: loops as often as they run, groups however they are written."""

import pytest

from saccade.analysis.preflight.collectives import Sent, by_kind, collectives

HEADER = 'HloModule jit_f, is_scheduled=true, num_partitions=8\n'
LOOP = (
    HEADER
    + """
%add (a: f32[], b: f32[]) -> f32[] {
  ROOT %sum = f32[] add(%a, %b)
}

%body (state: (s32[], f32[64,32])) -> (s32[], f32[64,32]) {
  %whole = f32[64,32]{1,0:T(8,128)} all-gather(%part), replica_groups=[2,4]<=[8], dimensions={0}
  ROOT %next = (s32[], f32[64,32]{1,0}) tuple(%count, %whole)
}

%condition (state: (s32[], f32[64,32])) -> pred[] {
  ROOT %less = pred[] compare(%count, %trips), direction=LT
}

ENTRY %main (x: f32[16,32]) -> f32[] {
  %loop = (s32[], f32[64,32]{1,0}) while(%start), condition=%condition, body=%body, \
backend_config={"known_trip_count":{"n":"6"},"known_init_step":{"init":"0"}}
  ROOT %all = f32[100]{0} all-reduce(%each), replica_groups={{0,1},{2,3},{4,5},{6,7}}, to_apply=%add
}
"""
)


# As the TPU's compiler writes it: a loop that counts up to a constant, and a collective in three fusions, one of them
# in a loop that runs while it does.
ASYNCHRONOUS = (
    HEADER
    + """
%begin (part: f32[16,32]) -> f32[64,32] {
  ROOT %first = f32[64,32]{1,0} all-gather(%part), channel_id=7, replica_groups=[2,4]<=[8], dimensions={0}
}

%further (part: f32[16,32]) -> f32[64,32] {
  ROOT %second = f32[64,32]{1,0} all-gather(%part), channel_id=7, replica_groups=[2,4]<=[8], dimensions={0}
}

%end (part: f32[16,32]) -> f32[64,32] {
  ROOT %third = f32[64,32]{1,0} all-gather(%part), channel_id=7, replica_groups=[2,4]<=[8], dimensions={0}
}

%inner_body (state: (s32[], f32[64,32])) -> (s32[], f32[64,32]) {
  %step = f32[64,32]{1,0} fusion(%part), kind=kCustom, calls=%further
}

%inner_condition (state: (s32[], f32[64,32])) -> pred[] {
  %other = s32[] constant(99)
  %end = s32[]{:T(128)} constant(136)
  ROOT %less = pred[]{:T(512)} compare(%count, %end), direction=LT
}

%body (state: (s32[], f32[64,32])) -> (s32[], f32[64,32]) {
  %start = f32[64,32]{1,0} fusion(%part), kind=kCustom, calls=%begin
  %inner = (s32[], f32[64,32]{1,0}) while(%started), condition=%inner_condition, body=%inner_body
  %done = f32[64,32]{1,0} fusion(%inner), kind=kCustom, calls=%end
}

%condition (state: (s32[], f32[64,32])) -> pred[] {
  %trips = s32[]{:T(128)} constant(6)
  ROOT %less = pred[]{:T(512)} compare(%count, %trips), direction=LT
}

ENTRY %main (x: f32[16,32]) -> f32[] {
  ROOT %loop = (s32[], f32[64,32]{1,0}) while(%start), condition=%condition, body=%body
}
"""
)


def one(instruction):
    (found,) = collectives(f'{HEADER}\nENTRY %main (x: f32[8]) -> f32[8] {{\n  {instruction}\n}}\n')
    return found


def test_a_loop_counts_as_often_as_it_runs():
    assert collectives(LOOP) == [
        Sent('all-gather', 6, 6 * 64 * 32 * 4 * 3 // 4),
        Sent('all-reduce', 1, 2 * 100 * 4 * 1 // 2),
    ]


def test_a_collective_in_several_fusions_counts_as_often_as_it_starts():
    assert collectives(ASYNCHRONOUS) == [Sent('all-gather', 6, 6 * 64 * 32 * 4 * 3 // 4)]


def test_a_loop_that_data_end_counts_once():
    open_ended = ASYNCHRONOUS.replace('%trips = s32[]{:T(128)} constant(6)', '%trips = s32[] get-tuple-element(%state)')
    assert collectives(open_ended) == [Sent('all-gather', 1, 64 * 32 * 4 * 3 // 4)]


def test_collectives_of_one_channel_that_no_fusion_holds_are_several():
    """As those of a shard_map are."""
    exchange = 'all-to-all(%x), channel_id=1, replica_groups={}'
    twice = f'%a = f32[64]{{0}} {exchange}\n  ROOT %b = f32[64]{{0}} {exchange}'
    assert collectives(f'{HEADER}\nENTRY %main (x: f32[8]) -> f32[8] {{\n  {twice}\n}}\n') == [
        Sent('all-to-all', 2, 2 * 64 * 4 * 7 // 8)
    ]


def test_the_loop_of_uneven_loads_does_not_count():
    name = 'metadata={op_name="jit(step)/feedforward/shard_map/uneven_loads/while"}'
    uneven = LOOP.replace('backend_config', f'{name}, backend_config')
    assert [each.kind for each in collectives(uneven)] == ['all-reduce']


@pytest.mark.parametrize(
    ('groups', 'devices'),
    [
        ('replica_groups={{0,1,2,3},{4,5,6,7}}', 4),
        ('replica_groups=[4,2]<=[8]', 2),
        ("replica_groups=mesh['a'=4,'b'=1,'c'=2], device_ids=([2,4]T(1,0)) {'a'}", 4),
        ("replica_groups=mesh['a'=4,'c'=2] {'a','c'}", 8),
        ("replica_groups=mesh['a'=4,'c'=2] {'a':(1)2}", 2),
        ('replica_groups={}', 8),
    ],
)
def test_groups_are_read_however_they_are_written(groups, devices):
    found = one(f'ROOT %all = f32[96]{{0}} all-reduce(%each), channel_id=1, {groups}, to_apply=%add')
    assert found.bytes == 2 * 96 * 4 * (devices - 1) // devices


@pytest.mark.parametrize(
    ('instruction', 'kind', 'sent'),
    [
        ('%a = bf16[64]{0} reduce-scatter(%x), replica_groups={}', 'reduce-scatter', 64 * 2 * 7),
        ('%a = pred[64]{0} all-to-all(%x), replica_groups={}', 'all-to-all', 64 * 7 // 8),
        ('%a = f8e4m3fn[64]{0} collective-permute(%x), source_target_pairs={{0,1}}', 'collective-permute', 64),
        ('%a = (f32[64]{0}, f32[], s8[8]{0}) all-reduce(%x, %y, %z), replica_groups={}', 'all-reduce', 264 * 14 // 8),
        ('%a = (f32[8]{0}, f32[64]{0}) all-gather-start(%x), replica_groups={}', 'all-gather', 256 * 7 // 8),
        (
            '%a = (f32[64]{0}, f32[64]{0}, u32[], u32[]) collective-permute-start(%x), source_target_pairs={{0,1}}',
            'collective-permute',
            256,
        ),
    ],
)
def test_every_kind_sends_what_a_ring_does(instruction, kind, sent):
    assert one(instruction) == Sent(kind, 1, sent)


def test_what_sends_nothing_is_not_there():
    assert collectives(LOOP.replace('all-gather', 'dot').replace('all-reduce', 'add')) == []


MESH = {'data': 2, 'sequence': 2, 'tensor': 2}


@pytest.mark.parametrize(
    ('groups', 'along'),
    [
        ('replica_groups={{0,1},{2,3},{4,5},{6,7}}', 'tensor'),
        ('replica_groups={{0,2},{1,3},{4,6},{5,7}}', 'sequence'),
        ('replica_groups=[4,2]<=[8]', 'tensor'),
        ('replica_groups=[4,2]<=[2,4]T(1,0)', 'data'),
        ('replica_groups=[4,2]<=[2,2,2]T(0,2,1)', 'sequence'),
        ('replica_groups=[2,4]<=[8]', 'sequence, tensor'),
        ("replica_groups=mesh['a'=2,'b'=4] {'a'}", 'data'),
        ("replica_groups=mesh['a'=2,'b'=4] {'b':(1)2}", 'sequence'),
        ("replica_groups=mesh['a'=2,'b'=4] {'b':(2)2}", 'tensor'),
        ("replica_groups=mesh['a'=4,'b'=1,'c'=2], device_ids=([2,4]T(1,0)) {'c'}", 'data'),
        ('replica_groups={}', 'data, sequence, tensor'),
        ('source_target_pairs={{0,2},{2,0},{1,3},{3,1},{4,6},{6,4},{5,7},{7,5}}', 'sequence'),
        ('source_target_pairs={{0,4},{4,0},{1,1},{2,6}}', 'data'),
    ],
)
def test_groups_say_along_which_axes_of_the_mesh_is_sent(groups, along):
    instruction = f'%a = f32[64]{{0}} all-reduce(%x), {groups}'
    (found,) = collectives(f'{HEADER}\nENTRY %main (x: f32[8]) -> f32[8] {{\n  {instruction}\n}}\n', MESH)
    assert found.along == along


def test_permutations_that_a_kernel_asks_for_share_a_channel_and_count_one_by_one():
    line = '  %{} = f32[64]{{0}} collective-permute(%x), channel_id=1, source_target_pairs={{{{0,1}},{{1,0}}}}'
    lines = '\n'.join(line.format(name) for name in 'ab')
    (found,) = collectives(f'{HEADER}\nENTRY %main (x: f32[8]) -> f32[8] {{\n{lines}\n}}\n', MESH)
    assert found == Sent('collective-permute', 2, 2 * 64 * 4, 'tensor')


def test_kinds_add_up_over_axes():
    sent = [Sent('all-reduce', 1, 3, 'data'), Sent('all-gather', 1, 5, 'fsdp'), Sent('all-reduce', 2, 4, 'sequence')]
    assert by_kind(sent) == {'all-reduce': 7, 'all-gather': 5}
