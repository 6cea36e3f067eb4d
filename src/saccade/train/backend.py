# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""How a step is spread over devices: `jit` over a named mesh, or `pmap` over a row of replicas.

Both compile the step ahead of time; the executable that is analysed for the plan is the one that runs.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec
from jaxtyping import PyTree

from saccade.train.learner import Learner, TrainState
from saccade.train.mesh import ROWS, make_mesh, shardings
from saccade.types import Batch, Params, UserError

Rows = Mapping[str, np.ndarray]


@runtime_checkable
class Backend(Protocol):
    """A step compiled for the devices at hand.

    Attributes:
        learner: the step as a pure function of all rows.
        like: shapes, dtypes and places of a state as it is saved and restored.
        rows_like: shapes of a global batch.
        train_step: the compiled (state, batch) -> (state, metrics). It takes the state over.
        eval_step: the compiled (params, batch) -> totals.
        devices: how many there are in all.
    """

    learner: Learner
    like: TrainState
    rows_like: PyTree
    train_step: Any
    eval_step: Any
    devices: int

    def init(self, seed: int) -> TrainState: ...

    def place(self, rows: Rows) -> Batch:
        """Put this process's rows of a global batch on its devices."""
        ...

    def load(self, state: TrainState) -> TrainState:
        """Make the state that the step takes out of one that was saved."""
        ...

    def unload(self, state: TrainState) -> TrainState:
        """The reverse: one copy of every leaf."""
        ...

    def host(self, values: PyTree) -> PyTree:
        """Metrics or totals as NumPy."""
        ...


class JitBackend:
    """`jax.jit` over a mesh with the axes data, fsdp and tensor."""

    def __init__(self, learner: Learner, rows: PyTree, mesh: Mapping[str, int]) -> None:
        self.learner = learner
        self._mesh = make_mesh(mesh)
        self.devices = self._mesh.size
        split = self._mesh.shape['data'] * self._mesh.shape['fsdp'] * learner.accumulate
        _check_rows(jax.tree.leaves(rows)[0].shape[0], split, 'data x fsdp x accumulate')
        whole = NamedSharding(self._mesh, PartitionSpec())
        self._rows = NamedSharding(self._mesh, ROWS)
        self.rows_like = jax.tree.map(lambda leaf: _placed(leaf, self._rows), rows)
        shapes = jax.eval_shape(learner.init, _key_data(0), rows)
        places = shardings(shapes, self._mesh)
        self.like = jax.tree.map(_placed, shapes, places)
        self._init = jax.jit(learner.init, in_shardings=(whole, self._rows), out_shardings=places)
        step = jax.jit(
            learner.train_step, in_shardings=(places, self._rows), out_shardings=(places, whole), donate_argnums=0
        )
        self.train_step = step.lower(self.like, self.rows_like).compile()
        evaluate = jax.jit(learner.eval_step, in_shardings=(places.params, self._rows), out_shardings=whole)
        self.eval_step = evaluate.lower(self.like.params, self.rows_like).compile()

    def init(self, seed: int) -> TrainState:
        zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype, device=leaf.sharding), self.rows_like)
        return self._init(_key_data(seed), zeros)

    def place(self, rows: Rows) -> Batch:
        return {name: jax.make_array_from_process_local_data(self._rows, part) for name, part in rows.items()}

    def load(self, state: TrainState) -> TrainState:
        return state

    def unload(self, state: TrainState) -> TrainState:
        return state

    def host(self, values: PyTree) -> PyTree:
        return jax.tree.map(lambda leaf: np.asarray(leaf.addressable_data(0)), values)


class PmapBackend:
    """`jax.pmap`: every device has a copy of the state and a share of the rows."""

    def __init__(self, learner: Learner, rows: PyTree, mesh: Mapping[str, int]) -> None:
        self.learner, self.rows_like = learner, rows
        replica = dataclasses.replace(learner, axis='devices')
        self.devices, self._local = jax.device_count(), jax.local_device_count()
        asked = {name: size for name, size in mesh.items() if size not in (1, -1)}
        if asked not in ({}, {'data': self.devices}):
            raise UserError(f"config.backend: 'pmap' only splits rows; it cannot serve the mesh {asked}: use 'jit'")
        count = jax.tree.leaves(rows)[0].shape[0]
        _check_rows(count, self.devices * learner.accumulate, 'devices x accumulate')
        share = jax.tree.map(
            lambda leaf: jax.ShapeDtypeStruct((count // self.devices, *leaf.shape[1:]), leaf.dtype), rows
        )
        self.like = jax.eval_shape(learner.init, _key_data(0), share)
        shares, states = jax.tree.map(self._stacked, share), jax.tree.map(self._stacked, self.like)
        self._init = jax.jit(
            lambda key: learner.init(key, jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), share))
        )
        step = jax.pmap(replica.train_step, axis_name='devices', donate_argnums=0)
        self.train_step = step.lower(states, shares).compile()
        evaluate = jax.pmap(replica.eval_step, axis_name='devices')
        self.eval_step = evaluate.lower(states.params, shares).compile()
        self._spread = jax.pmap(lambda _, state: state, in_axes=(0, None), out_axes=0)

    def init(self, seed: int) -> TrainState:
        return self.load(self._init(_key_data(seed)))

    def place(self, rows: Rows) -> Batch:
        return {name: part.reshape(self._local, -1, *part.shape[1:]) for name, part in rows.items()}

    def load(self, state: TrainState) -> TrainState:
        return self._spread(np.zeros(self._local), state)

    def unload(self, state: TrainState) -> TrainState:
        return jax.tree.map(lambda leaf: leaf.addressable_data(0).reshape(leaf.shape[1:]), state)

    def host(self, values: PyTree) -> PyTree:
        return jax.tree.map(np.asarray, self.unload(values))

    def _stacked(self, leaf: Any) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((self._local, *leaf.shape), leaf.dtype)


BACKENDS = {'jit': JitBackend, 'pmap': PmapBackend}


def replace_params(backend: Backend, state: TrainState, params: Params) -> TrainState:
    """Start from other weights of the model than the initial ones; the optimizer's state is untouched."""
    saved = backend.unload(state)
    placed = jax.tree.map(
        lambda new, old: jax.device_put(np.asarray(new, old.dtype), old.sharding),
        {**saved.params, **params},  # what an adapter keeps beside the model's stays
        saved.params,
    )
    ema = None if saved.ema is None else jax.tree.map(jnp.copy, placed)
    return backend.load(saved.replace(params=placed, ema=ema))


def _check_rows(rows: int, split: int, words: str) -> None:
    if rows % split:
        raise UserError(f'config.batch_size: {rows} rows do not divide by {words} = {split}')


def _placed(leaf: Any, sharding: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding)


def _key_data(seed: int) -> jax.Array:
    return jax.random.key_data(jax.random.key(seed))
