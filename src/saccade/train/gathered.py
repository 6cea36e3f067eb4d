# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""FSDP all-gather: weights sharded along `fsdp` are gathered where they are used, one layer at a time.

This is ZeRO stage 3 (Rajbhandari et al. 2020, https://arxiv.org/abs/1910.02054): the communication of a device grows
with the weights, not with the activations. Given only the sharding of weights, XLA's partitioner may instead split
activations along the width and sum partial results over devices, which is many times as much.

Modules are unaware of it: the runner of a model's layers is wrapped, and passes each layer its gathered weights.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
from jax.sharding import NamedSharding, PartitionSpec
from jaxtyping import PyTree

from saccade.axes import letters_of
from saccade.train.mesh import AnyMesh, spec_of
from saccade.train.optimizer import each_leaf
from saccade.types import Part, Runner

_LAYERS = 'layers/'  # path of the stack's parameters in a tower


@dataclass(frozen=True)
class AllGathered:
    """FSDP all-gather: a runner that passes each layer its gathered weights.

    Attributes:
        run: the wrapped runner.
        mesh: mesh of the weights.
        axes: axes of the stack's parameters, by path, as in 'pattern_0/mixer/query'.
    """

    run: Part[Runner]
    mesh: AnyMesh
    axes: tuple[tuple[str, str], ...]

    def __call__(self, layer: Any, stacked: PyTree, carry: PyTree) -> tuple[PyTree, PyTree]:
        axes = dict(self.axes)

        def gather(path: str, leaf: jax.Array) -> jax.Array:
            spec = spec_of(axes.get(path), (1, *leaf.shape), self.mesh)
            return _whole(leaf, PartitionSpec(*spec[1:]), self.mesh)

        def whole(carry: PyTree, this: PyTree) -> tuple[PyTree, PyTree]:
            params, *rest = this
            return layer(carry, (each_leaf(params, gather), *rest))

        return self.run()(whole, stacked, carry)


def gathering(model: Part, axes: Mapping[str, str], mesh: AnyMesh, path: str = '') -> Part:
    """Return the model with gathered weights on this mesh: the field `run` of its towers is wrapped.

    Args:
        axes: axes of its parameters, by path.
        path: path of the model's own parameters among them, with a trailing slash.
    """
    inner = {name: value for name, value in model.arguments if isinstance(value, Part)}
    changed = {name: gathering(value, axes, mesh, f'{path}{name}/') for name, value in inner.items()}
    if 'run' in model.values:
        stack = f'{path}{_LAYERS}'
        own = tuple((name.removeprefix(stack), letters) for name, letters in axes.items() if name.startswith(stack))
        changed['run'] = Part(AllGathered, (('axes', own), ('mesh', mesh), ('run', model['run'])))
    return model.replace(**changed)


def outside_layers(axes: Mapping[str, str], mesh: AnyMesh, params: PyTree) -> PyTree:
    """Gather parameters outside stacks of layers: embeddings, heads, and all of a model without a stack."""

    def place(path: str, leaf: jax.Array) -> jax.Array:
        declared = axes.get(path)
        is_stacked = declared is not None and 'L' in letters_of(declared)
        return leaf if is_stacked else _whole(leaf, spec_of(declared, leaf.shape, mesh), mesh)

    return each_leaf(params, place)


def _whole(leaf: jax.Array, stored: PartitionSpec, mesh: AnyMesh) -> jax.Array:
    """Gather a leaf along `fsdp`; its gradient is reduce-scattered."""
    used = PartitionSpec(*(None if axis == 'fsdp' else axis for axis in stored))
    if used == stored:
        return leaf

    def lies(leaf: jax.Array, spec: PartitionSpec) -> jax.Array:
        return jax.lax.with_sharding_constraint(leaf, NamedSharding(mesh, spec))

    gather = jax.custom_vjp(lambda leaf: lies(leaf, used))
    gather.defvjp(lambda leaf: (lies(leaf, used), None), lambda _, gradient: (lies(gradient, stored),))
    return gather(leaf)
