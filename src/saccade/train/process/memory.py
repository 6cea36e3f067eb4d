# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Allocator of a CPU process: memory that a training step frees stays in the process, for the next step.

XLA:CPU takes its temporary memory from malloc at every step. glibc maps large blocks and returns them when they are
freed, so each step touches new pages: at some sizes a sixth of its time is page faults. glibc reads its environment
variables before Python starts, and gives threads arenas of their own, which are too small for these blocks; hence
`mallopt`, before XLA starts its threads.

The cost is memory: the process never returns any, and its heap is fragmented. Steps with 0.2 and 0.4 GiB of temporary
memory were seen to hold it three and four times, so a step that does not fit so often returns its blocks instead.
"""

import ctypes
import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path

# Parameters of mallopt by their numbers in malloc.h, and their values.
_SETTINGS = {
    -8: 1,  # M_ARENA_MAX: threads allocate from the one heap that can grow to any size
    -4: 0,  # M_MMAP_MAX: a large block comes from that heap too
    -1: -1,  # M_TRIM_THRESHOLD: the end of the heap is never given back
    -2: 2**28,  # M_TOP_PAD, bytes: the heap grows in few calls
}
_RETURNING = {
    -4: 65536,  # M_MMAP_MAX: as many blocks may be mapped as glibc has as its default
    -3: 2**25,  # M_MMAP_THRESHOLD, bytes: blocks from this size on are mapped, and returned when they are freed
}
HELD = 4  # times the memory of a step that a process may hold
_PLUGINS = ('jax_plugins', 'libtpu')  # modules in the wheels of accelerators
_DEVICES = ('nvidia*', 'accel*', 'vfio/*', 'kfd', 'dxg')  # files of accelerators in /dev


def keep_freed_memory() -> bool:
    """Keep freed memory, and return True if it is kept: in a process that computes on the CPU, on Linux with glibc.

    The settings of a user who has tuned malloc by environment variables are unchanged. JAX's devices are not queried.
    """
    return _set(_SETTINGS)


def return_large_blocks() -> bool:
    """Return the freed memory of large blocks to the system from now on, and return True if it is returned."""
    return _set(_RETURNING)


def _set(settings: Mapping[int, int]) -> bool:
    tuned = any(name.startswith('MALLOC_') for name in os.environ)
    tuned = tuned or 'glibc.malloc' in os.environ.get('GLIBC_TUNABLES', '')
    if tuned or sys.platform != 'linux' or not _computes_on_cpu():
        return False
    libc = ctypes.CDLL(None)
    if not hasattr(libc, 'gnu_get_libc_version'):
        return False
    return all(libc.mallopt(parameter, value) == 1 for parameter, value in settings.items())


def _computes_on_cpu() -> bool:
    platforms = os.environ.get('JAX_PLATFORMS')
    if platforms:
        return platforms.partition(',')[0] == 'cpu'
    wheels = any(map(importlib.util.find_spec, _PLUGINS))
    return not (wheels and any(file for pattern in _DEVICES for file in Path('/dev').glob(pattern)))
