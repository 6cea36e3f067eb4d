# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Devices that a program is traced for: their platform, and how its rows and heads are split over them.

XLA divides its own operations over a mesh, but no kernel that it did not make. Such a kernel asks here: it is called
on each device with the part of its arguments that lies there. Whoever traces a program for devices other than the
default ones, or for several, says so by `traced_for`, which is part of the key of JAX's caches of traces.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import jax
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array


@dataclass(frozen=True)
class Devices:
    """Devices on a mesh. Attributes: mesh; its axes that split rows and heads; the one that splits experts, if any."""

    mesh: Mesh
    rows: tuple[str, ...]
    heads: tuple[str, ...]
    experts: str | None = None

    def spec_of(self, letters: str, rows: int, heads: int) -> PartitionSpec:
        """Return how an array with these axes lies: split along B and along N or K, where these sizes divide."""
        split = {'B': self._dividing(self.rows, rows)} | dict.fromkeys('NK', self._dividing(self.heads, heads))
        return PartitionSpec(*(split.get(letter) for letter in letters.split()))

    def _dividing(self, axes: tuple[str, ...], size: int) -> tuple[str, ...] | None:
        count = 1
        for axis in axes:
            count *= self.mesh.shape[axis]
        return axes if size % count == 0 else None


_devices = jax.make_user_context(None)


def traced_for(devices: Devices) -> AbstractContextManager[None]:
    """Trace programs for these devices."""
    return _devices(devices)


def platform() -> str:
    """Return the platform that the program is traced for, as JAX calls it: cpu, gpu or tpu."""
    devices = _devices.value
    return jax.default_backend() if devices is None else devices.mesh.devices.flat[0].platform


def split_experts() -> Devices | None:
    """Return the devices that the program is traced for if experts are split over them, else None."""
    devices = _devices.value
    return None if devices is None or devices.mesh.shape.get(devices.experts, 1) == 1 else devices


def on_each(function: Callable[..., Array], axes: Sequence[str], out: str, rows: int, heads: int, *given: Any) -> Array:
    """Call a function on each device with what of its arguments lies there.

    Args:
        axes: letters of each argument, as 'B T N H'; an argument may be None.
        out: letters of the result.
        rows, heads: how many rows there are, and key heads.
    """
    devices = _devices.value
    if devices is None or devices.mesh.size == 1:
        return function(*given)
    specs = tuple(devices.spec_of(letters, rows, heads) for letters in axes)
    spread = jax.shard_map(
        function,
        mesh=devices.mesh,
        in_specs=specs,
        out_specs=devices.spec_of(out, rows, heads),
        check_vma=False,  # Pallas kernels do not say over which axes their results vary
    )
    return spread(*given)
