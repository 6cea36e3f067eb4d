# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Memory in bytes: the limit of one device here, and the peak of a compiled program."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax

# The TPU compiler's message for a program that is too large: all that it needs, or only its temporary arrays.
_USED = re.compile(r'(?:Used |HLO temporaries \()([\d.]+)([KMGT]?)(?: of|\) exceeds)')
_UNITS = {'': 1, 'K': 2**10, 'M': 2**20, 'G': 2**30, 'T': 2**40}
# Mount point and limit file of the memory controller, by the controller's name in /proc/self/cgroup; v2 has no name.
_CGROUPS = {'': ('sys/fs/cgroup', 'memory.max'), 'memory': ('sys/fs/cgroup/memory', 'memory.limit_in_bytes')}


def device_limit() -> int | None:
    """Memory of one device of this process; None where it is not known. CPU devices share the host's memory."""
    device = jax.local_devices()[0]
    known = (device.memory_stats() or {}).get('bytes_limit')
    if known is None and device.platform == 'cpu' and (host := host_limit()) is not None:
        return host // jax.local_device_count()
    return known


def host_limit(root: Path = Path('/')) -> int | None:
    """Memory of the host, or of the container if that has less; None where neither is known.

    Args:
        root: folder with `proc` and `sys`.
    """
    limits = list(_container_limits(root))
    if hasattr(os, 'sysconf'):
        limits.append(os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES'))
    return min(limits, default=None)


def _container_limits(root: Path) -> Iterator[int]:
    """Yield the limits of the control group of this process and of those that contain it, v1 and v2.

    A container may see the host's path of its group, and only its own group below the mount point.
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
    """Return the memory that a compiled program needs of a device; donated arguments count once.

    Args:
        memory: the compiler's own analysis.
        platform: of the device, as JAX calls it.
    """
    if platform == 'tpu':  # whose compiler refuses by this figure; its temporary bytes are more than are there at once
        return memory.peak_memory_in_bytes
    held = memory.argument_size_in_bytes + memory.output_size_in_bytes - memory.alias_size_in_bytes
    return held + memory.temp_size_in_bytes


def refused_bytes(error: jax.errors.JaxRuntimeError) -> int | None:
    """Memory of a program that a compiler refused as too large; None for any other error."""
    used = _USED.search(str(error))
    return int(float(used[1]) * _UNITS[used[2]]) if used else None


def readable(size: int) -> str:
    """Return a size in GiB, or in MiB where it is less than one GiB."""
    return f'{size / 2**30:,.1f} GiB' if size >= 2**30 else f'{size / 2**20:,.0f} MiB'
