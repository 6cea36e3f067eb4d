# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Devices of a traced program: their platform, and the sharding of rows, tokens and heads.

XLA partitions its own operations over a mesh, but not custom kernels. Custom kernels use this module: they are called
on each device with the local part of their arguments. To trace a program for other than the default device, use
`traced_for`, which is part of the key of JAX's trace caches.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

import jax
from jax.sharding import AbstractMesh, Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array


@dataclass(frozen=True)
class Devices:
    """Devices on a mesh.

    Attributes: mesh; rows, heads: mesh axes that split these; tokens, experts: mesh axis that splits the tokens of a
    row, and mesh axis that splits experts, or None.
    """

    mesh: Mesh | AbstractMesh
    rows: tuple[str, ...]
    heads: tuple[str, ...]
    tokens: str | None = None
    experts: str | None = None

    def spec_of(self, letters: str, rows: int, heads: int) -> PartitionSpec:
        """Return the sharding of an array with these axes: along B, and N or K, if divisible; and along T or S."""
        split = {'B': self._dividing(self.rows, rows)} | dict.fromkeys('NK', self._dividing(self.heads, heads))
        split |= dict.fromkeys('TS', self.tokens)
        return PartitionSpec(*(split.get(letter) for letter in letters.split()))

    @property
    def parts(self) -> int:
        """Number of devices that split the tokens of a row."""
        return 1 if self.tokens is None else self.mesh.shape.get(self.tokens, 1)

    @property
    def head_parts(self) -> int:
        """Number of devices that split the heads."""
        return math.prod(self.mesh.shape[axis] for axis in self.heads)

    def by_heads(self) -> 'Devices':
        """Return the same devices with all tokens of a row and fewer heads on each."""
        return self if self.tokens is None else replace(self, heads=(*self.heads, self.tokens), tokens=None)

    def _dividing(self, axes: tuple[str, ...], size: int) -> tuple[str, ...] | None:
        return axes if size % math.prod(self.mesh.shape[axis] for axis in axes) == 0 else None


_devices = jax.make_user_context(None)


def traced_for(devices: Devices | None) -> AbstractContextManager[None]:
    """Trace programs for these devices; None for the default ones."""
    return _devices(devices)


def device() -> jax.Device:
    """Return one of the devices that the program is traced for; all have the same kind."""
    devices = _devices.value
    return jax.devices()[0] if devices is None else devices.mesh.devices.flat[0]


def by_heads() -> AbstractContextManager[None]:
    """Trace programs for the same devices, each with whole rows of fewer heads; see `Devices.by_heads`."""
    devices = _devices.value
    return _devices(None if devices is None else devices.by_heads())


def current() -> Devices | None:
    """Return the devices that the program is traced for; None for the default device."""
    return _devices.value


def platform() -> str:
    """Return the platform that the program is traced for, as JAX calls it: cpu, gpu or tpu."""
    return device().platform


def token_parts() -> int:
    """Return the number of devices that split the tokens of a row."""
    devices = _devices.value
    return 1 if devices is None else devices.parts


def laid(x: Array, letters: str, rows: int, heads: int) -> Array:
    """Constrain the sharding of an array by `Devices.spec_of`, if there are several devices."""
    devices = _devices.value
    if devices is None or devices.mesh.size == 1:
        return x
    return jax.lax.with_sharding_constraint(x, NamedSharding(devices.mesh, devices.spec_of(letters, rows, heads)))


def split_experts() -> Devices | None:
    """Return the devices that the program is traced for if experts are split over them, else None."""
    devices = _devices.value
    return None if devices is None or devices.mesh.shape.get(devices.experts, 1) == 1 else devices


def on_each(function: Callable[..., Array], axes: Sequence[str], out: str, rows: int, heads: int, *given: Any) -> Array:
    """Call a function on each device with the local part of its arguments.

    Args:
        axes: letters of each argument, such as 'B T N H'; an argument may be None.
        out: letters of the result.
        rows, heads: number of rows, and of key heads.
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
        check_vma=False,  # Pallas kernels do not declare the axes over which their results vary
    )
    return spread(*given)
