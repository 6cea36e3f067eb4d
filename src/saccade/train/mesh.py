# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Device mesh with named axes, and the sharding of each parameter on it.

Modules are independent of devices. They declare the axes of each parameter by letters (`saccade.axes`), which are
mapped to mesh axes only here; the optimizer's moments are sharded as the parameter that their path ends in. Mesh axes:
`data` splits rows; `fsdp` splits rows and, along the width, parameters (Rajbhandari et al. 2020, ZeRO stage 3);
`expert` splits rows and the experts of mixtures (Lepikhin et al. 2020, GShard); `sequence` splits the tokens of each
row; `tensor` splits heads and feed-forward width (Shoeybi et al. 2019).
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import AbstractMesh, Mesh, NamedSharding, PartitionSpec
from jaxtyping import PyTree

from saccade.axes import COPIES, letters_of
from saccade.ops.devices import Devices
from saccade.train.optimizer import path_of
from saccade.types import Params, UserError

AXES = ('data', 'fsdp', 'expert', 'sequence', 'tensor')
ROW_AXES = ('data', 'fsdp', 'expert')
ROWS = PartitionSpec(ROW_AXES)
AnyMesh = Mesh | AbstractMesh

# Letters that each mesh axis splits. In a parameter with several of them it splits the first in this order.
SPLIT = {'fsdp': 'DRM', 'expert': 'E', 'tensor': 'NKFV'}


def make_mesh(sizes: Mapping[str, int], devices: Sequence[Any]) -> Mesh:
    """Arrange all of these devices along the named axes.

    Raises:
        UserError: an axis is unknown, or the sizes need another number of devices.
    """
    unknown = [name for name in sizes if name not in AXES]
    if unknown:
        raise UserError(f"config.mesh: there is no axis '{unknown[0]}'; there are {', '.join(AXES)}")
    shape = _filled([sizes.get(name, 1) for name in AXES], len(devices))
    if math.prod(shape) > len(devices):
        raise UserError(f'config.mesh: {_words(shape)} needs {math.prod(shape)} devices; there are {len(devices)}')
    if math.prod(shape) < len(devices):
        raise UserError(
            f'config.mesh: {_words(shape)} leaves {len(devices) - math.prod(shape)} of {len(devices)} devices idle; '
            f'set one axis to -1, the rest'
        )
    return Mesh(np.array(devices).reshape(shape), AXES)


def devices_of(mesh: AnyMesh) -> Devices:
    """Return the devices of a mesh, with the axes that split rows, heads, tokens and experts, where XLA does not."""
    return Devices(mesh, ROW_AXES, ('tensor',), 'sequence', 'expert')


def rows_read(mesh: Mesh, process: int) -> tuple[int, int]:
    """Return the index of the part of a batch's rows that a process reads, and the number of parts.

    Processes whose devices share all rows, as the mesh splits only heads or tokens between them, read the same part.

    Raises:
        UserError: some processes share a part of their rows.
    """
    lines = mesh.devices.reshape(math.prod(mesh.shape[axis] for axis in ROW_AXES), -1)
    owners = {device.process_index: set() for device in lines.flat}
    for shard, line in enumerate(lines):
        for device in line:
            owners[device.process_index].add(shard)
    parts = sorted({tuple(sorted(shards)) for shards in owners.values()})
    if sum(map(len, parts)) != len(lines) or len({len(part) for part in parts}) > 1:
        sizes = ' x '.join(f'{name}={size}' for name, size in mesh.shape.items() if size > 1)
        raise UserError(
            f'config.mesh: {sizes} over {len(owners)} processes lets some of them share only a part of their rows: '
            'choose sizes for which two processes have the same rows or none in common'
        )
    return parts.index(tuple(sorted(owners[process]))), len(parts)


def shardings(state: PyTree, params: Params, axes: Mapping[str, str], mesh: AnyMesh) -> PyTree:
    """Return the sharding of every leaf of a state with these parameters, whose declared axes are given by path."""
    paths = {path_of(path) for path, _ in jax.tree_util.tree_leaves_with_path(params)}

    def place(keypath: Any, leaf: Any) -> NamedSharding:
        names = path_of(keypath).split('/')
        endings = ('/'.join(names[first:]) for first in range(len(names)))
        parameter = next((path for path in endings if path in paths), None)
        return NamedSharding(mesh, spec_of(axes.get(parameter), leaf.shape, mesh))

    return jax.tree_util.tree_map_with_path(place, state)


def spec_of(axes: str | None, shape: tuple[int, ...], mesh: AnyMesh) -> PartitionSpec:
    """Return the partition of a leaf of a parameter with these axes; None declares none.

    Axes that do not divide are replicated, as are leaves with another number of dimensions (factored moments) and,
    along
    `fsdp`, vectors: gathering them would cost more than they save.
    """
    letters = [] if axes is None else letters_of(axes)
    if len(letters) != len(shape):
        return PartitionSpec()
    is_vector = sum(letter not in COPIES for letter in letters) < 2
    spec: list[str | None] = [None] * len(shape)
    for name, order in SPLIT.items():
        fitting = [
            place
            for letter in order
            for place, own in enumerate(letters)
            if own == letter and shape[place] % mesh.shape[name] == 0
        ]
        if fitting and not (name == 'fsdp' and is_vector):
            spec[fitting[0]] = name
    return PartitionSpec(*spec)


def require_experts(params: Params, axes: Mapping[str, str], mesh: AnyMesh) -> None:
    """Check that the mesh axis `expert` divides the experts.

    Raises:
        UserError: no parameter has the letter E, or the number of experts is not divisible by the axis `expert`.
    """
    split = mesh.shape['expert']
    if split == 1:
        return
    leaves = {path_of(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(params)}
    letters = {path: letters_of(axes[path]) for path in leaves if path in axes}
    experts = {path: leaves[path].shape[own.index('E')] for path, own in letters.items() if 'E' in own}
    if not experts:
        raise UserError(
            f'config.mesh.expert: {split} devices for experts, but the model has no mixture; use config.mesh.data'
        )
    for path, count in experts.items():
        if count % split:
            raise UserError(f'config.mesh.expert: {count} experts ({path}) do not divide by {split}')


def _filled(shape: list[int], devices: int) -> tuple[int, ...]:
    if any(size == 0 or size < -1 for size in shape) or shape.count(-1) > 1:
        raise UserError(f'config.mesh: sizes are positive, and at most one is -1; not {_words(shape)}')
    known = math.prod(size for size in shape if size != -1)
    return tuple(max(devices // known, 1) if size == -1 else size for size in shape)


def _words(shape: tuple[int, ...] | list[int]) -> str:
    return ' x '.join(f'{name}={size}' for name, size in zip(AXES, shape, strict=True))
