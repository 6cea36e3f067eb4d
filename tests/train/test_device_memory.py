# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The memory limit of a device: the host's, the container's or the accelerator's."""

import os
from types import SimpleNamespace

import jax
import pytest

from saccade.train import device_memory
from saccade.train.device_memory import device_limit, host_limit, readable, refused_bytes

RAM = os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES')


@pytest.mark.parametrize(
    ('groups', 'limits', 'expected'),
    [
        ('0::/user/job\n', {'user/job/memory.max': '300', 'user/memory.max': '200'}, 200),
        ('0::/user/job\n', {'user/job/memory.max': 'max', 'user/memory.max': '200'}, 200),
        ('0::/\n', {'memory.max': '4096'}, 4096),
        ('5:cpu,memory:/a\n0::/\n', {'memory/a/memory.limit_in_bytes': '700'}, 700),
        ('4:memory:/seen/by/the/host\n', {'memory/memory.limit_in_bytes': '900'}, 900),
        ('4:memory:/\n', {'memory/memory.limit_in_bytes': str(2**63 - 4096)}, RAM),
        ('0::/\n', {}, RAM),
        (None, {'memory.max': '4096'}, RAM),
    ],
)
def test_the_limit_of_a_host_is_the_least_of_its_memory_and_of_all_groups(tmp_path, groups, limits, expected):
    if groups is not None:
        (tmp_path / 'proc/self').mkdir(parents=True)
        (tmp_path / 'proc/self/cgroup').write_text(groups)
    for name, text in limits.items():
        file = tmp_path / 'sys/fs/cgroup' / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'{text}\n')
    assert host_limit(tmp_path) == expected


def test_simulated_devices_share_the_memory_of_the_host(monkeypatch):
    monkeypatch.setattr(jax, 'local_device_count', lambda: 4)
    monkeypatch.setattr(device_memory, 'host_limit', lambda: 8 * 2**30)
    assert device_limit() == 2 * 2**30


@pytest.mark.parametrize(('stats', 'expected'), [({'bytes_limit': 80}, 80), ({}, None), (None, None)])
def test_the_limit_of_an_accelerator_is_what_it_says(monkeypatch, stats, expected):
    device = SimpleNamespace(platform='gpu', memory_stats=lambda: stats)
    monkeypatch.setattr(jax, 'local_devices', lambda: [device])
    assert device_limit() == expected


@pytest.mark.parametrize(
    ('said', 'expected'),
    [
        ('RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 20.50G of 15.75G hbm.', 41 * 2**29),
        ('HLO temporaries (3.5M) exceeds', 7 * 2**19),
        ('INTERNAL: something else', None),
    ],
)
def test_a_compiler_that_refuses_a_program_says_what_it_needs(said, expected):
    assert refused_bytes(jax.errors.JaxRuntimeError(said)) == expected


def test_sizes_are_in_gib_from_one_gib_on():
    assert [readable(size) for size in (2**20, 2**30 - 2**20, 2**30, 53_425_855 * 2**20)] == [
        '1 MiB',
        '1,023 MiB',
        '1.0 GiB',
        '52,173.7 GiB',
    ]
