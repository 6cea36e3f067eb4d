# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""The allocator of a CPU process: no page of a block is touched for the first time twice."""

import subprocess
import sys

import pytest

from saccade.train.process import memory

# Blocks of the size of a step's temporary memory, from a thread that is not the first, as XLA's are.
FIVE_BLOCKS = """
import resource, sys, threading
from saccade.train.process.memory import keep_freed_memory, return_large_blocks
kept = keep_freed_memory() if sys.argv[1] != 'returned' else None
if sys.argv[1] == 'kept, then returned':
    assert return_large_blocks()
def step():
    b'1' * 2**26
def run(count):
    for _ in range(count):
        thread = threading.Thread(target=step)
        thread.start()
        thread.join()
run(3)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
run(5)
print(kept, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform != 'linux', reason='glibc')
def test_a_step_finds_the_memory_of_the_step_before():
    def faults(how: str) -> int:
        done = subprocess.run([sys.executable, '-c', FIVE_BLOCKS, how], capture_output=True, text=True, check=True)
        kept, count = done.stdout.split()
        assert kept == ('None' if how == 'returned' else 'True')
        return int(count)

    assert faults('kept') < 1000 < min(faults('returned'), faults('kept, then returned'))


@pytest.mark.parametrize(
    'environment',
    [{'JAX_PLATFORMS': 'cuda,cpu'}, {'MALLOC_ARENA_MAX': '2'}, {'GLIBC_TUNABLES': 'glibc.malloc.check=3'}],
)
def test_an_accelerators_process_and_a_users_own_settings_are_left_alone(monkeypatch, environment):
    monkeypatch.setenv('JAX_PLATFORMS', 'cpu')
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert not memory.keep_freed_memory()
    assert not memory.return_large_blocks()


@pytest.mark.parametrize(
    ('wheel', 'device', 'kept'), [('saccade', 'null', False), ('saccade', 'none*', True), ('no_wheel', 'null', True)]
)
def test_an_accelerator_is_a_wheel_and_a_device(monkeypatch, wheel, device, kept):
    monkeypatch.delenv('JAX_PLATFORMS')
    monkeypatch.setattr(memory, '_SETTINGS', {})  # this process keeps its allocator
    monkeypatch.setattr(memory, '_PLUGINS', (wheel,))
    monkeypatch.setattr(memory, '_DEVICES', (device,))
    assert memory.keep_freed_memory() == kept


def test_no_glibc_no_settings(monkeypatch):
    monkeypatch.setattr(sys, 'platform', 'darwin')
    assert not memory.keep_freed_memory()
