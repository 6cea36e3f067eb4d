# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Memory in bytes: the limit of a local device, and the peak of a compiled program."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax

# The TPU compiler's message for a program that is too large: its total memory, or only its temporary arrays.
_USED = re.compile(r'(?:Used |HLO temporaries \()([\d.]+)([KMGT]?)(?: of|\) exceeds)')
_UNITS = {'': 1, 'K': 2**10, 'M': 2**20, 'G': 2**30, 'T': 2**40}
# Mount point and limit file of the memory controller, by the controller's name in /proc/self/cgroup; v2 has no name.
_CGROUPS = {'': ('sys/fs/cgroup', 'memory.max'), 'memory': ('sys/fs/cgroup/memory', 'memory.limit_in_bytes')}


def device_limit() -> int | None:
    """Return the memory of one local device; None if unknown. CPU devices share the host's memory."""
    device = jax.local_devices()[0]
    known = (device.memory_stats() or {}).get('bytes_limit')
    if known is None and device.platform == 'cpu' and (host := host_limit()) is not None:
        return host // jax.local_device_count()
    return known


def host_limit(root: Path = Path('/')) -> int | None:
    """Return the memory of the host, or of the container if that has less; None if both are unknown.

    Args:
        root: folder with `proc` and `sys`.
    """
    limits = list(_container_limits(root))
    if hasattr(os, 'sysconf'):
        limits.append(os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES'))
    return min(limits, default=None)


def _container_limits(root: Path) -> Iterator[int]:
    """Yield the memory limits of this process's control group and its ancestors, v1 and v2.

    In a container, the path may be the host's, while only the container's own group is visible below the mount point.
    """
    try:
        groups = [line.split(':', 2)[1:] for line in (root / 'proc/self/cgroup').read_text().splitlines()]
    except OSError:
        return
    for controllers, path in groups:
        for name in _CGROUPS.keys() & set(controllers.split(',')):
            mount, file = _CGROUPS[name]
            group = Path(path.lstrip('/'))
            for folder in (group, *group.parents):
                try:
                    text = (root / mount / folder / file).read_text().strip()
                except OSError:
                    continue
                if text.isdecimal():  # not 'max'
                    yield int(text)


def peak_bytes(memory: Any, platform: str) -> int:
    """Return the peak memory of a compiled program on a device; donated arguments count once.

    Args:
        memory: the compiler's memory analysis.
        platform: platform of the device, as in JAX.
    """
    if platform == 'tpu':  # its compiler enforces this figure; its temporary bytes are not all live at once
        return memory.peak_memory_in_bytes
    held = memory.argument_size_in_bytes + memory.output_size_in_bytes - memory.alias_size_in_bytes
    return held + memory.temp_size_in_bytes


def refused_bytes(error: jax.errors.JaxRuntimeError) -> int | None:
    """Return the memory of a program that a compiler rejected as too large; None for any other error."""
    used = _USED.search(str(error))
    return int(float(used[1]) * _UNITS[used[2]]) if used else None


def readable(size: int) -> str:
    """Return a size in GiB, or in MiB if it is less than one GiB."""
    return f'{size / 2**30:,.1f} GiB' if size >= 2**30 else f'{size / 2**20:,.0f} MiB'
