# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Devices as a named mesh, and which parameter lies where on it.

Modules know nothing of devices. A table of (regex on the parameter's path, axes) places every parameter, and the
optimizer's moments beside it, since their paths end alike. Axes: `data` splits rows; `fsdp` splits rows and, along
the width, parameters (Rajbhandari et al. 2020, ZeRO stage 3); `tensor` splits heads and feed-forward width
(Shoeybi et al. 2019).
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import AbstractMesh, Mesh, NamedSharding, PartitionSpec
from jaxtyping import PyTree

from saccade.train.optimizer import path_of
from saccade.types import UserError

AXES = ('data', 'fsdp', 'tensor')
ROWS = PartitionSpec(('data', 'fsdp'))
AnyMesh = Mesh | AbstractMesh

# The first match holds. Paths below `layers/` are stacked: axis 0 is the layer.
RULES = (
    (r'layers/.*((query|key|value)|(mixer|cross)/gate)$', PartitionSpec(None, 'fsdp', 'tensor', None)),
    (r'layers/.*(query|key|value)_bias$', PartitionSpec(None, 'tensor', None)),
    (r'layers/.*(mixer|cross)/output$', PartitionSpec(None, 'tensor', None, 'fsdp')),
    (r'layers/.*(up|gate)$', PartitionSpec(None, 'fsdp', 'tensor')),
    (r'layers/.*(up|gate)_bias$', PartitionSpec(None, 'tensor')),
    (r'layers/.*down$', PartitionSpec(None, 'tensor', 'fsdp')),
    (r'layers/.*expert/(up|gate)$', PartitionSpec(None, None, 'fsdp', 'tensor')),
    (r'layers/.*expert/down$', PartitionSpec(None, None, 'tensor', 'fsdp')),
    (r'embedding$', PartitionSpec('tensor', 'fsdp')),
    (r'head$', PartitionSpec('fsdp', 'tensor')),
)


def make_mesh(sizes: Mapping[str, int], devices: Sequence[Any]) -> Mesh:
    """Arrange these devices along the named axes, all of them.

    Raises:
        UserError: an axis is unknown, or the sizes ask for another number of devices than there are.
    """
    unknown = [name for name in sizes if name not in AXES]
    if unknown:
        raise UserError(f"config.mesh: there is no axis '{unknown[0]}'; there are {', '.join(AXES)}")
    shape = _filled([sizes.get(name, 1) for name in AXES], len(devices))
    if math.prod(shape) > len(devices):
        raise UserError(f'config.mesh: {_words(shape)} asks for {math.prod(shape)} devices; there are {len(devices)}')
    if math.prod(shape) < len(devices):
        raise UserError(
            f'config.mesh: {_words(shape)} leaves {len(devices) - math.prod(shape)} of {len(devices)} devices idle; '
            f'set one axis to -1, the rest'
        )
    return Mesh(np.array(devices).reshape(shape), AXES)


def shardings(tree: PyTree, mesh: Mesh) -> PyTree:
    """Place every leaf of a state by its path."""
    return jax.tree_util.tree_map_with_path(
        lambda path, leaf: NamedSharding(mesh, spec_of(path_of(path), leaf.shape, mesh)), tree
    )


def spec_of(path: str, shape: tuple[int, ...], mesh: AnyMesh) -> PartitionSpec:
    """Axes of one leaf. An axis that does not divide its dimension is left whole there."""
    for pattern, spec in RULES:
        if re.search(pattern, path) and len(spec) == len(shape):
            return PartitionSpec(
                *(
                    name if name and size % mesh.shape[name] == 0 else None
                    for name, size in zip(spec, shape, strict=True)
                )
            )
    return PartitionSpec()


def _filled(shape: list[int], devices: int) -> tuple[int, ...]:
    if any(size == 0 or size < -1 for size in shape) or shape.count(-1) > 1:
        raise UserError(f'config.mesh: sizes are positive, and at most one is -1; not {_words(shape)}')
    known = math.prod(size for size in shape if size != -1)
    return tuple(max(devices // known, 1) if size == -1 else size for size in shape)


def _words(shape: tuple[int, ...] | list[int]) -> str:
    return ' x '.join(f'{name}={size}' for name, size in zip(AXES, shape, strict=True))
