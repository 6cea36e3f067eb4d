# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Weights that are split along `fsdp` are gathered where they are used, one layer at a time.

This is ZeRO stage 3 (Rajbhandari et al. 2020, https://arxiv.org/abs/1910.02054): what a device sends grows with the
weights, and not with the activations. Told only where weights lie, XLA's partitioner may rather split activations
along the width and sum over devices what each makes of its part, which is many times as much.

Modules know nothing of it: the runner that goes through a model's layers is wrapped, and hands each its weights whole.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
from jax.sharding import NamedSharding, PartitionSpec
from jaxtyping import PyTree

from saccade.train.experiment import Experiment
from saccade.train.mesh import AnyMesh, spec_of
from saccade.train.optimizer import path_of
from saccade.types import Hidden, Part, Runner


@dataclass(frozen=True)
class Gathered:
    """A runner whose layers get their weights whole. Attributes: the runner that it wraps, and where weights lie."""

    run: Part[Runner]
    mesh: AnyMesh

    def __call__(self, layer: Any, stacked: PyTree, x: Hidden) -> tuple[Hidden, PyTree]:
        def whole(x: Hidden, this: PyTree) -> tuple[Hidden, PyTree]:
            return layer(x, jax.tree_util.tree_map_with_path(partial(_of_one_layer, self.mesh), this))

        return self.run()(whole, stacked, x)


def gathering(experiment: Experiment, mesh: AnyMesh) -> Experiment:
    """The same experiment, whose model gathers the weights of its layers on this mesh."""
    return replace(experiment, model=_wrapped(experiment.model, mesh))


def outside_layers(mesh: AnyMesh, params: PyTree) -> PyTree:
    """Gather what is not of a layer: embeddings and heads."""

    def place(path: Any, leaf: jax.Array) -> jax.Array:
        name = path_of(path)
        return leaf if 'layers/' in name else _whole(leaf, spec_of(name, leaf.shape, mesh), mesh)

    return jax.tree_util.tree_map_with_path(place, params)


def _wrapped(part: Part, mesh: AnyMesh) -> Part:
    """The part with every runner in it wrapped: the field `run` of a tower, at any depth."""
    inner = {name: value for name, value in part.arguments if isinstance(value, Part)}
    changed = {name: _wrapped(value, mesh) for name, value in inner.items()}
    if 'run' in inner:
        changed['run'] = Part(Gathered, (('mesh', mesh), ('run', inner['run'])))
    return part.but(**changed)


def _of_one_layer(mesh: AnyMesh, path: Any, leaf: jax.Array) -> jax.Array:
    stacked = spec_of(f'layers/{path_of(path)}', (1, *leaf.shape), mesh)
    return _whole(leaf, PartitionSpec(*stacked[1:]), mesh)


def _whole(leaf: jax.Array, stored: PartitionSpec, mesh: AnyMesh) -> jax.Array:
    """Gather a leaf along `fsdp`; its gradient is summed and split again."""
    used = PartitionSpec(*(None if axis == 'fsdp' else axis for axis in stored))
    if used == stored:
        return leaf

    def lies(leaf: jax.Array, spec: PartitionSpec) -> jax.Array:
        return jax.lax.with_sharding_constraint(leaf, NamedSharding(mesh, spec))

    gather = jax.custom_vjp(lambda leaf: lies(leaf, used))
    gather.defvjp(lambda leaf: (lies(leaf, used), None), lambda _, gradient: (lies(gradient, stored),))
    return gather(leaf)
