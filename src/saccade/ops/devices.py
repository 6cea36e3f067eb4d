# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Devices that a program is traced for: their platform, and how its rows, tokens and heads are split over them.

XLA divides its own operations over a mesh, but no kernel that it did not make. Such a kernel asks here: it is called
on each device with the part of its arguments that lies there. Whoever traces a program for devices other than the
default ones, or for several, says so by `traced_for`, which is part of the key of JAX's caches of traces.
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

    Attributes: mesh; rows, heads: the axes of the mesh that split these; tokens, experts: the one that splits the
    tokens of a row, and the one that splits experts, None for none.
    """

    mesh: Mesh | AbstractMesh
    rows: tuple[str, ...]
    heads: tuple[str, ...]
    tokens: str | None = None
    experts: str | None = None

    def spec_of(self, letters: str, rows: int, heads: int) -> PartitionSpec:
        """Return how an array with these axes lies: split along B, and N or K, where these sizes divide; and T or S."""
        split = {'B': self._dividing(self.rows, rows)} | dict.fromkeys('NK', self._dividing(self.heads, heads))
        split |= dict.fromkeys('TS', self.tokens)
        return PartitionSpec(*(split.get(letter) for letter in letters.split()))

    @property
    def parts(self) -> int:
        """How many devices share the tokens of a row."""
        return 1 if self.tokens is None else self.mesh.shape.get(self.tokens, 1)

    @property
    def head_parts(self) -> int:
        """How many devices share the heads."""
        return math.prod(self.mesh.shape[axis] for axis in self.heads)

    def by_heads(self) -> 'Devices':
        """Return the same devices where each has all tokens of a row, and fewer heads in their place."""
        return self if self.tokens is None else replace(self, heads=(*self.heads, self.tokens), tokens=None)

    def _dividing(self, axes: tuple[str, ...], size: int) -> tuple[str, ...] | None:
        return axes if size % math.prod(self.mesh.shape[axis] for axis in axes) == 0 else None


_devices = jax.make_user_context(None)


def traced_for(devices: Devices | None) -> AbstractContextManager[None]:
    """Trace programs for these devices; None for the default ones."""
    return _devices(devices)


def device() -> jax.Device:
    """Return one of the devices that the program is traced for; all are of a kind."""
    devices = _devices.value
    return jax.devices()[0] if devices is None else devices.mesh.devices.flat[0]


def by_heads() -> AbstractContextManager[None]:
    """Trace programs for the same devices, each with whole rows of fewer heads; see `Devices.by_heads`."""
    devices = _devices.value
    return _devices(None if devices is None else devices.by_heads())


def current() -> Devices | None:
    """Return the devices that the program is traced for; None for one of the default ones."""
    return _devices.value


def platform() -> str:
    """Return the platform that the program is traced for, as JAX calls it: cpu, gpu or tpu."""
    return device().platform


def token_parts() -> int:
    """Return how many devices share the tokens of a row."""
    devices = _devices.value
    return 1 if devices is None else devices.parts


def laid(x: Array, letters: str, rows: int, heads: int) -> Array:
    """Lay an array over the devices as `Devices.spec_of` says, where there are several."""
    devices = _devices.value
    if devices is None or devices.mesh.size == 1:
        return x
    return jax.lax.with_sharding_constraint(x, NamedSharding(devices.mesh, devices.spec_of(letters, rows, heads)))


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
