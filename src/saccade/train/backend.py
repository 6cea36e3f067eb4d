# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Backends: `jit` over a device mesh, or `pmap` over replicas.

Both compile the step ahead of time; the executable analysed for the plan is the one that runs.
"""

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, SupportsFloat, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from einops import rearrange
from jax.experimental import multihost_utils
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import PyTree

from saccade.attention.auto import Choice, choices
from saccade.ops import remat
from saccade.ops.devices import Devices, traced_for
from saccade.ops.flops import counted, jaxpr_flops, jaxpr_model_flops
from saccade.train.learner import Learner, TrainState
from saccade.train.mesh import ROW_AXES, ROWS, devices_of, make_mesh, require_experts, rows_read, shardings
from saccade.types import Batch, Params, Total, UserError

Rows = Mapping[str, np.ndarray]

_RATE = jax.ShapeDtypeStruct((), jnp.float32)
_SCALE = jax.ShapeDtypeStruct((), jnp.float32, weak_type=True)  # weak like a Python number


@dataclass(frozen=True)
class StepCounts:
    """Counts of a traced step. Attributes: FLOPs executed, over all devices; FLOPs of the model; kernel choices."""

    flops: int
    model_flops: int
    choices: tuple[Choice, ...]


@dataclass(frozen=True)
class TracedStep:
    """Training step, traced once: counted and compiled from the same trace.

    Attributes: traced, with a method `lower` as `jax.stages.Traced` has; counts.
    """

    traced: Any
    counts: StepCounts

    @classmethod
    def of(cls, trace: Callable[[], Any], devices: Devices | None, parts: int = 1) -> 'TracedStep':
        """Trace a step.

        Args:
            trace: returns the traced step, with a `jaxpr`.
            devices: devices it is traced for; None for the default ones.
            parts: number of devices that each execute the jaxpr.
        """
        with choices() as made, traced_for(devices):
            traced, jaxpr = counted(trace)
        return cls(traced, StepCounts(parts * jaxpr_flops(jaxpr), parts * jaxpr_model_flops(jaxpr), tuple(made)))


@dataclass(frozen=True)
class Steps:
    """Compiled step for batches of several shapes.

    Attributes:
        programs: by shapes of a batch; the main shapes first.
        counts: counts of the first program.
        scales: numbers passed as arguments to the programs, in addition to the learning rate.
    """

    programs: Mapping[Any, Any]
    counts: StepCounts
    scales: Mapping[str, np.float32] = field(default_factory=dict)

    def taking(self, scales: Mapping[str, float]) -> 'Steps':
        """Return the same programs with other numbers."""
        return replace(self, scales={path: np.float32(value) for path, value in scales.items()})

    def __call__(self, state: TrainState, batch: Batch | Rows, rate: SupportsFloat) -> tuple[TrainState, Any]:
        return self.programs[_shapes(batch)](state, batch, np.float32(rate), self.scales)

    def memory_analysis(self) -> Any:
        """Return XLA's memory analysis of the first program."""
        return self._first.memory_analysis()

    def as_text(self) -> str:
        """Return the HLO of the first program."""
        return self._first.as_text()

    @property
    def _first(self) -> Any:
        return next(iter(self.programs.values()))


@runtime_checkable
class Backend(Protocol):
    """Protocol of a backend: the training step compiled for the available devices.

    Attributes:
        learner: the step as a pure function of all rows.
        like: shapes, dtypes and shardings of a state as it is saved and restored.
        rows_like: shapes of a global batch, of the longest rows.
        train_step: compiled (state, batch, learning rate) -> (state, metrics). It donates the state.
        shards: number of parts into which the rows of a batch are split.
        reads: index of the part of a batch's rows that this process reads, and the number of parts; processes may read
            the same part.
        devices: total number of devices.
        traced: devices that programs are traced for; None if each program is for one device.
    """

    learner: Learner
    like: TrainState
    rows_like: PyTree
    train_step: Steps
    shards: int
    reads: tuple[int, int]
    devices: int
    traced: Devices | None

    def init(self, seed: int) -> TrainState:
        """Return the initial training state for a seed."""
        ...

    def place(self, rows: Rows) -> Batch | Rows:
        """Put this process's rows of a global batch on its devices, or into the layout of the step."""
        ...

    def eval_step(self, params: Params, batch: Batch | Rows) -> dict[str, Total]:
        """Return the totals of a batch; the first call compiles the program."""
        ...

    def load(self, state: TrainState) -> TrainState:
        """Convert a saved state to the state of the step."""
        ...

    def unload(self, state: TrainState) -> TrainState:
        """Convert the state of the step to a saved state, with one copy of every leaf."""
        ...

    def host(self, values: PyTree) -> PyTree:
        """Return metrics or totals as NumPy arrays."""
        ...

    def spread(self, function: Callable[[Params, Batch], PyTree]) -> Callable[[Params, Rows], PyTree]:
        """Shard the rows of a function over the devices; each device has all parameters.

        Returns:
            A function of this process's rows that returns the results of all rows on every process, as NumPy arrays.
        """
        ...


class OnMesh:
    """Training step under `jax.jit` over a mesh, not compiled yet; the devices need not exist.

    Attributes: whole and rows, shardings of a replicated leaf and of a batch; batches, sharded shapes; places and like,
    shardings and shapes of the state; devices that programs are traced for.
    """

    def __init__(self, learner: Learner, batches: Sequence[PyTree], mesh: Mesh) -> None:
        split = math.prod(mesh.shape[axis] for axis in ROW_AXES) * learner.accumulate
        require_rows(batches, split, f'{" x ".join(ROW_AXES)} x accumulate')
        self.learner, self.devices = learner, devices_of(mesh)
        self._traced: dict[Any, TracedStep] = {}
        self.whole, self.rows = (NamedSharding(mesh, axes) for axes in (PartitionSpec(), ROWS))
        self.batches = [jax.tree.map(lambda leaf: _placed(leaf, self.rows), batch) for batch in batches]
        shapes = jax.eval_shape(learner.init, _key_data(0), self.batches[0])
        require_experts(shapes.params, learner.axes, mesh)
        self.places = shardings(shapes, shapes.params, learner.axes, mesh)
        self.like = jax.tree.map(_placed, shapes, self.places)

    def traced(self, batch: PyTree) -> TracedStep:
        """Trace the training step once for batches of these shapes, a learning rate and the learner's scales.

        The step donates the state.
        """
        if (known := self._traced.get(_shapes(batch))) is not None:
            return known
        step = jax.jit(
            self.learner.train_step,
            in_shardings=(self.places, self.rows, self.whole, self.whole),
            out_shardings=(self.places, self.whole),
            donate_argnums=0,
            compiler_options=remat.compiler_options(self.rows.mesh.devices.flat[0].platform),
        )
        scales = dict.fromkeys(self.learner.scales, _SCALE)
        traced = TracedStep.of(lambda: step.trace(self.like, batch, _RATE, scales), self.devices)
        return self._traced.setdefault(_shapes(batch), traced)

    def train_step(self, batch: PyTree) -> jax.stages.Lowered:
        """Lower the training step for batches of these shapes."""
        return self.traced(batch).traced.lower()


class JitBackend:
    """Backend of `jax.jit` over a mesh with named axes, as in `train.mesh`."""

    def __init__(self, learner: Learner, batches: Sequence[PyTree], mesh: Mapping[str, int]) -> None:
        spread = OnMesh(learner, batches, make_mesh(mesh, jax.devices()))
        self.learner, self._rows, self.devices = learner, spread.rows, spread.rows.mesh.size
        self.like, self.rows_like, self.traced = spread.like, spread.batches[0], spread.devices
        self._whole = whole = spread.whole
        params = spread.places.params
        self._init = jax.jit(learner.init, in_shardings=(whole, spread.rows, whole), out_shardings=spread.places)
        self._evaluate = jax.jit(learner.eval_step, in_shardings=(params, spread.rows, whole), out_shardings=whole)
        programs, counts = _compiled(spread.traced, spread.batches)
        self.train_step = Steps(programs, counts).taking(learner.scales)
        self.shards = math.prod(spread.rows.mesh.shape[axis] for axis in ROW_AXES)
        self.reads = rows_read(spread.rows.mesh, jax.process_index())

    def init(self, seed: int) -> TrainState:
        """Return the initial training state, sharded over the mesh."""
        zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype, device=leaf.sharding), self.rows_like)
        with traced_for(self.traced):
            return self._init(_key_data(seed), zeros, self.train_step.scales)

    def eval_step(self, params: Params, batch: Batch) -> dict[str, Total]:
        """Return the totals of a batch; the first call compiles the program."""
        with traced_for(self.traced):
            return self._evaluate(params, batch, self.train_step.scales)

    def place(self, rows: Rows) -> Batch:
        """Return the global batch, with rows sharded over the mesh, from this process's rows."""
        return {name: jax.make_array_from_process_local_data(self._rows, part) for name, part in rows.items()}

    def load(self, state: TrainState) -> TrainState:
        """Return the state unchanged: it is saved sharded."""
        return state

    def unload(self, state: TrainState) -> TrainState:
        """Return the state unchanged: it is saved sharded."""
        return state

    def host(self, values: PyTree) -> PyTree:
        """Return replicated metrics or totals as NumPy arrays."""
        return jax.tree.map(lambda leaf: np.asarray(leaf.addressable_data(0)), values)

    def spread(self, function: Callable[[Params, Batch], PyTree]) -> Callable[[Params, Rows], PyTree]:
        """Compile the function by `jit`, with results replicated on every device."""
        run = jax.jit(function, out_shardings=self._whole)

        def spread(params: Params, rows: Rows) -> PyTree:
            with traced_for(self.traced):
                return self.host(run(params, self.place(rows)))

        return spread


class PmapBackend:
    """Backend of `jax.pmap`: every device has a copy of the state and a share of the rows."""

    def __init__(self, learner: Learner, batches: Sequence[PyTree], mesh: Mapping[str, int]) -> None:
        self.learner, self.rows_like = learner, batches[0]
        replica = replace(learner, axis='devices')
        self.devices = self.shards = jax.device_count()
        self.reads = jax.process_index(), jax.process_count()
        self.traced = None
        self._local = jax.local_device_count()
        asked = {name: size for name, size in mesh.items() if size not in (1, -1)}
        if asked not in ({}, {'data': self.devices}):
            raise UserError(f"config.backend: 'pmap' only splits rows; it cannot serve the mesh {asked}: use 'jit'")
        require_rows(batches, self.devices * learner.accumulate, 'devices x accumulate')
        share = jax.tree.map(self._share, self.rows_like)
        self.like = jax.eval_shape(learner.init, _key_data(0), share)
        states = jax.tree.map(self._stacked, self.like)
        placed = [jax.tree.map(lambda leaf: self._stacked(self._share(leaf)), rows) for rows in batches]
        self._init = jax.jit(
            lambda key, scales: learner.init(
                key, jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), share), scales
            )
        )
        self._evaluate = jax.pmap(replica.eval_step, axis_name='devices', in_axes=(0, 0, None))
        scales, trace = dict.fromkeys(learner.scales, _SCALE), partial(_traced_by_pmap, replica.train_step)

        def traced(rows: PyTree) -> TracedStep:
            return TracedStep.of(lambda: trace(states, rows, _RATE, scales), None, self.devices)

        options = remat.compiler_options(jax.default_backend())
        programs, counts = _compiled(traced, placed, options)
        self.train_step = Steps(programs, counts).taking(learner.scales)
        self._spread = jax.pmap(lambda _, state: state, in_axes=(0, None), out_axes=0)

    def init(self, seed: int) -> TrainState:
        """Return the initial training state, copied to every device."""
        return self.load(self._init(_key_data(seed), self.train_step.scales))

    def eval_step(self, params: Params, batch: Rows) -> dict[str, Total]:
        """Return the totals of a batch; the first call compiles the program."""
        return self._evaluate(params, batch, self.train_step.scales)

    def place(self, rows: Rows) -> Rows:
        """Return this process's rows with a leading axis of devices."""
        return {name: rearrange(part, '(D B) ... -> D B ...', D=self._local) for name, part in rows.items()}

    def load(self, state: TrainState) -> TrainState:
        """Return the state copied to every device of this process."""
        return self._spread(np.zeros(self._local), state)

    def unload(self, state: TrainState) -> TrainState:
        """Return the state of this process's first device."""
        return jax.tree.map(_of_one, state)

    def host(self, values: PyTree) -> PyTree:
        """Return metrics or totals of this process's first device as NumPy arrays."""
        # Slice on the host: on the device, the slice would wait for queued steps.
        return jax.tree.map(lambda leaf: np.asarray(leaf.addressable_data(0)).reshape(leaf.shape[1:]), values)

    def spread(self, function: Callable[[Params, Batch], PyTree]) -> Callable[[Params, Rows], PyTree]:
        """Compile the function by `pmap`, and gather its results from all processes."""
        run = jax.pmap(function, in_axes=(None, 0))

        def joined(leaf: jax.Array) -> np.ndarray:
            return np.concatenate([np.asarray(part.data).reshape(leaf.shape[1:]) for part in leaf.addressable_shards])

        def spread(params: Params, rows: Rows) -> PyTree:
            ours = jax.tree.map(joined, run(params, self.place(rows)))
            return multihost_utils.process_allgather(ours, tiled=True)

        return spread

    def _share(self, leaf: Any) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((leaf.shape[0] // self.devices, *leaf.shape[1:]), leaf.dtype)

    def _stacked(self, leaf: Any) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((self._local, *leaf.shape), leaf.dtype)


def _compiled(
    trace: Callable[[PyTree], TracedStep], batches: Sequence[PyTree], options: Mapping[str, str] | None = None
) -> tuple[dict[Any, Any], StepCounts]:
    """Compile a step for each batch; return the programs by shapes, and the counts of the first."""
    steps = {_shapes(batch): trace(batch) for batch in batches}
    programs = {shapes: step.traced.lower().compile(options) for shapes, step in steps.items()}
    return programs, next(iter(steps.values())).counts


@dataclass(frozen=True)
class _Lowered:
    """Trace of a function under `jax.pmap`, which has no `trace`. Attributes: jaxpr of one device; lowered."""

    jaxpr: ClosedJaxpr
    lowered: jax.stages.Lowered

    def lower(self) -> jax.stages.Lowered:
        """Return the lowering made at tracing."""
        return self.lowered


def _traced_by_pmap(function: Callable[..., Any], *given: PyTree) -> _Lowered:
    """Trace a step under `jax.pmap`; its last two arguments are shared by all devices."""
    traced: list[ClosedJaxpr] = []

    def noted(*given: PyTree) -> PyTree:
        jaxpr, like = jax.make_jaxpr(function, return_shape=True)(*given)
        traced.append(jaxpr)
        leaves = jaxpr_as_fun(jaxpr)(*jax.tree.leaves(given))
        return jax.tree.unflatten(jax.tree.structure(like), leaves)

    lowered = jax.pmap(noted, axis_name='devices', in_axes=(0, 0, None, None), donate_argnums=0).lower(*given)
    return _Lowered(traced[-1], lowered)


BACKENDS = {'jit': JitBackend, 'pmap': PmapBackend}


def with_learner(backend: Backend, learner: Learner) -> Backend:
    """Return a backend with the same programs for the learner of another run."""
    other = copy.copy(backend)
    other.learner, other.train_step = learner, backend.train_step.taking(learner.scales)
    return other


def replace_params(backend: Backend, state: TrainState, params: Params) -> TrainState:
    """Replace the model's initial weights, before the first step."""
    saved = backend.unload(state)
    taken: set[int] = set()

    def place(new: Any, old: jax.Array) -> jax.Array:
        # Weights that were read onto the mesh stay there; but a step donates each of its parameters once.
        is_placed = isinstance(new, jax.Array) and (new.sharding, new.dtype) == (old.sharding, old.dtype)
        if is_placed and id(new) not in taken:
            taken.add(id(new))
            return new
        return jax.device_put(np.asarray(new, old.dtype), old.sharding)

    # An adapter's own parameters are kept.
    placed = jax.tree.map(place, {**saved.params, **params}, saved.params)
    ema = None if saved.ema is None else jax.tree.map(jnp.copy, placed)
    # A rule may begin with the weights, as Hyperball with their norms.
    shardings = jax.tree.map(lambda leaf: leaf.sharding, saved.opt_state)
    opt_state = jax.jit(backend.learner.optimizer.init, out_shardings=shardings)(placed)
    return backend.load(saved.replace(params=placed, opt_state=opt_state, ema=ema))


def require_rows(batches: Sequence[PyTree], split: int, words: str) -> None:
    """Check that the rows of batches divide into `split` parts.

    Args:
        words: the factors of `split`, for the message.

    Raises:
        UserError: the rows of a batch do not divide.
    """
    for batch in batches:
        rows = jax.tree.leaves(batch)[0].shape[0]
        if rows % split:
            raise UserError(f'config.batch_size: {rows} rows do not divide by {words} = {split}')


def _of_one(leaf: jax.Array) -> jax.Array:
    """Return the first local device's copy of a replicated leaf."""
    return leaf.addressable_data(0).reshape(leaf.shape[1:])


def _shapes(batch: PyTree) -> tuple[tuple[int, ...], ...]:
    return tuple(leaf.shape for leaf in jax.tree.leaves(batch))


def _placed(leaf: Any, sharding: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding)


def _key_data(seed: int) -> jax.Array:
    return jax.random.key_data(jax.random.key(seed))
