# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Training step of an experiment: as a pure function, compiled for the available devices, or only counted."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Any

import jax
import numpy as np
import optax
from jaxtyping import PyTree

from saccade.axes import in_float32
from saccade.build import fields
from saccade.nearest import nearest
from saccade.ops.flops import model_flops
from saccade.train.backend import BACKENDS, Backend, require_rows, with_learner
from saccade.train.declared import ranking, reports_of, targets
from saccade.train.experiment import Experiment
from saccade.train.extension_schedule import schedule_of
from saccade.train.gathered import gathering, outside_layers
from saccade.train.initial import Initial, kept, param_shapes
from saccade.train.learner import Learner
from saccade.train.mesh import ROW_AXES, AnyMesh, make_mesh
from saccade.train.optimizer import Optimizer, path_of
from saccade.train.program import OUTSIDE
from saccade.train.scales import rescaled, scales_of
from saccade.train.split_tokens import splitting
from saccade.train.start import require_architecture
from saccade.train.trained import spec_of, verified_folder
from saccade.types import Bucketed, Params, Part, UserError


def make_learner(experiment: Experiment) -> Learner:
    """Build the training step of an experiment, which holds no arrays.

    Raises:
        UserError: the parts do not fit each other, or a part is of another kind than its field takes.
    """
    require_parts(experiment)
    schedule, adapter = learning_rate(experiment), experiment.adapter
    shapes, axes = kept(experiment)
    settings = dict(axes=axes, at_width=partial(shapes_at_width, experiment))

    def of(scales: Mapping[str, Any]) -> dict[str, Any]:
        made = rescaled(experiment, scales)
        optimizer = adapter.optimizer(partial(made['optimizer'](), schedule, **settings), shapes)
        return made | {'optimizer': optimizer, 'task': made['task']()}

    scales, optimizer, initial = scales_of(experiment), experiment.optimizer(), Initial.of(experiment)
    return Learner(
        model=experiment.model(),
        schedule=schedule,
        dtype=experiment.dtype,
        accumulate=experiment.accumulate,
        adapter=adapter,
        axes=axes,
        exact=in_float32(initial.axes),
        frozen=optimizer.frozen(shapes, **settings) if isinstance(optimizer, Optimizer) else frozenset(),
        scales=scales,
        rescaled=of,
        initial=initial,
        **of(scales),
    )


def require_parts(experiment: Experiment) -> None:
    """Refuse parts that do not fit each other, as far as it can be checked without data and without tracing.

    Raises:
        UserError: the model lacks a head, the schedule or the optimizer is not one, the model does not support a
            length, or no part of the config declares the metric that ranks checkpoints, or one that ends the run.
    """
    _require_heads(experiment)
    learning_rate(experiment)
    if not callable(experiment.optimizer()):
        raise UserError(
            f"config.optimizer: {experiment.optimizer.name} is not an optimizer; name 'train.optimizer:Optimizer'"
        )
    for length in experiment.eval_lengths:
        experiment.at_length(length)
    ranking(experiment)
    targets(experiment)


def require_devices(experiment: Experiment) -> None:
    """Refuse a mesh or a batch that does not fit the available devices.

    Raises:
        UserError: the mesh does not match the devices, or the rows of a batch do not divide among them.
    """
    by = ' x '.join(ROW_AXES) if experiment.backend == 'jit' else 'devices'
    require_rows(batches_like(experiment), row_shards(experiment) * experiment.accumulate, f'{by} x accumulate')


def _require_heads(experiment: Experiment) -> None:
    """Refuse a model without a head of the task, or with a head of fewer classes than the data have."""
    task, whole = experiment.task, experiment.model
    needed = getattr(experiment.data(), 'classes', None) or 0  # None: for pairs that are not classified
    for place, names in getattr(task.target, 'heads', {}).items():
        model, path = (whole[place], f'config.model.{place}') if place else (whole, 'config.model')
        there = dict(dict(model.arguments).get('heads', ()))
        for name in names:
            if 'heads' in fields(model.target) and name not in there:
                raise UserError(
                    f"config.task: {task.name} reads the head '{name}'; {path}.heads has {', '.join(there) or 'none'}"
                )
            classes = (dict(there[name].arguments).get('classes') if name in there else None) or needed
            if classes < needed:
                raise UserError(f'{path}.heads.{name}.classes: must be at least {needed}, as config.data.classes')


def shapes_at_width(experiment: Experiment, width: int) -> Params:
    """Return the shapes of a run's parameters at another width of the model, or of each of its towers.

    Raises:
        UserError: the model has no width, or cannot be built with this one.
    """
    model = _at_width(experiment.model, width)
    if model is None:
        raise UserError(f'config.model: {experiment.model.name} has no field `width`, nor has one of its towers')
    try:
        return kept(replace(experiment, model=model))[0]
    except (UserError, TypeError, ValueError) as error:  # the shapes of a part with its own sizes need not fit
        raise UserError(f'config.model cannot be built with width {width}: {error}') from error


def _at_width(model: Part, width: int) -> Part | None:
    if 'width' in dict(model.arguments):
        return model.replace(width=width)
    parts = {name: value for name, value in model.arguments if isinstance(value, Part)}
    towers = {name: part.replace(width=width) for name, part in parts.items() if 'width' in dict(part.arguments)}
    return model.replace(**towers) if towers else None


def learning_rate(experiment: Experiment) -> optax.Schedule:
    """Return the learning rate by step, the run's extensions included.

    Raises:
        UserError: the schedule is not one, or its steps do not fit the run's.
    """
    made = experiment.schedule()
    extended = [extension() for extension in experiment.extended]
    schedule = schedule_of(made, extended, experiment.steps) if callable(made) else None
    if not callable(schedule):
        raise UserError(
            f'config.schedule: {experiment.schedule.name} does not make a schedule for a number of steps; '
            "'train.schedule:Cosine' does"
        )
    return schedule


def require_weights(experiment: Experiment) -> None:
    """Refuse a path to start from that is neither a run nor a Hugging Face directory, or has another architecture.

    Raises:
        UserError: the path is neither, or its weights do not fit the model.
    """
    if not experiment.init_from:
        return
    try:
        verified_folder(experiment.init_from)
        spec_of(experiment.init_from)
    except UserError as error:
        raise UserError(f'config.init_from: {error}') from error
    require_architecture(experiment)


def require_lengths(experiment: Experiment) -> None:
    """Trace the loss at each of the evaluation lengths of the config.

    Raises:
        UserError: the model does not support one of them.
    """
    for length in experiment.eval_lengths:
        params, other = param_shapes(experiment), experiment.at_length(length)
        task, model, rows = other.task(), other.model(), other.data().batch_like(other.batch_size)
        try:
            jax.eval_shape(partial(task.loss, model, key=jax.random.key(0), train=False), params, rows)
        except UserError as error:
            raise UserError(f'config.eval_lengths: {length} tokens: {error}') from error


def require_ranking(experiment: Experiment) -> None:
    """Refuse to rank checkpoints, or to end a run, by a metric that no evaluation logs.

    Raises:
        UserError: no evaluation logs it; or as in `train.declared:ranking` and `targets`.
    """
    task, data = experiment.task(), experiment.data()
    wanted = {'keep_best_by': {ranking(experiment).name}, 'stop_at': {metric.name for metric in targets(experiment)}}
    logged = {'loss', *(metric.name for metric in (*reports_of(task, 'evaluates'), *reports_of(data)))}
    if set.union(*wanted.values()) <= logged:  # without tracing
        return
    loss = partial(task.loss, experiment.model(), key=jax.random.key(0), train=False)
    logged |= {*jax.eval_shape(loss, param_shapes(experiment), data.batch_like(experiment.batch_size))}
    for where, names in wanted.items():
        for name in sorted(names - logged):
            raise UserError(f"config.{where}: no evaluation logs '{name}'{nearest(name, logged)}")


def ranked_lines(experiment: Experiment) -> list[str]:
    """Return a line on the checkpoints that can be the best, if few are saved at an evaluation."""
    saved, evaluated = experiment.checkpoint_every, experiment.eval_every
    both = math.lcm(saved, evaluated)
    if not experiment.keep_best or saved >= experiment.steps or both in (saved, evaluated):
        return []
    return [
        f'best        only a checkpoint at an evaluation can be the best: every {both:,} steps, and the last; for '
        f'more, set checkpoint_every to a multiple of eval_every={evaluated:,}'
    ]


def learner_on(mesh: AnyMesh, experiment: Experiment) -> Learner:
    """Build the training step of an experiment as one program over a mesh.

    It gathers weights at their use, and keeps the tokens of a row split if the mesh splits them.
    """
    learner, model = make_learner(experiment), experiment.model
    if mesh.shape['fsdp'] > 1:
        model = gathering(model, learner.axes, mesh)
        learner = replace(learner, place=partial(outside_layers, learner.axes, mesh))
    if mesh.shape.get('sequence', 1) > 1:
        model = splitting(model, mesh)
    return learner if model is experiment.model else replace(learner, model=model())


def make_backend(experiment: Experiment) -> Backend:
    """Compile the training step of an experiment for batches of all shapes in its data.

    Experiments of one `program_key` share the programs; the last two sets are cached.

    Raises:
        UserError: the initial weights do not exist, or as in `make_learner`.
    """
    require_weights(experiment)
    sizes, one_program = dict(experiment.mesh), experiment.backend == 'jit'
    learner = learner_on(make_mesh(sizes, jax.devices()), experiment) if one_program else make_learner(experiment)
    return with_learner(_compiled(_ProgramRequest(program_key(experiment), experiment, learner)), learner)


def program_key(experiment: Experiment) -> tuple[Any, ...]:
    """Return the key of an experiment's compiled programs; programs of equal keys are the same.

    It holds every field that is not in `OUTSIDE`; of the data only the shapes of batches, and of the numbers that
    programs take as arguments (`train.scales`) only their names.
    """
    inside = {each.name: getattr(experiment, each.name) for each in dataclasses.fields(experiment)}
    inside |= rescaled(experiment, dict.fromkeys(scales_of(experiment), 'argument'))
    batches = [jax.tree_util.tree_leaves_with_path(batch) for batch in batches_like(experiment)]
    inside['data'] = tuple((path_of(path), leaf.shape, leaf.dtype) for batch in batches for path, leaf in batch)
    key = tuple(value for name, value in inside.items() if name not in OUTSIDE)
    return key, repr(key)  # as 1, 1.0 and True are equal


@dataclass(frozen=True)
class _ProgramRequest:
    """Request for programs. Attributes: their key; an experiment and its learner with this key."""

    key: tuple[Any, ...]
    experiment: Experiment = field(compare=False)
    learner: Learner = field(compare=False)


@lru_cache(maxsize=2)  # programs of two variants in turn; more would fill the memory of a process that runs many
def _compiled(asked: _ProgramRequest) -> Backend:
    experiment = asked.experiment
    return BACKENDS[experiment.backend](asked.learner, batches_like(experiment), dict(experiment.mesh))


def row_shards(experiment: Experiment) -> int:
    """Return the number of parts that the devices split the rows of a batch into."""
    if experiment.backend != 'jit':
        return jax.device_count()
    mesh = make_mesh(dict(experiment.mesh), jax.devices())
    return math.prod(mesh.shape[axis] for axis in ROW_AXES)


def batches_like(experiment: Experiment) -> Sequence[PyTree]:
    """Return the shapes of the global batches of an experiment's data, the longest rows first."""
    data, size = experiment.data(), experiment.batch_size
    return data.batches_like(size) if isinstance(data, Bucketed) else [data.batch_like(size)]


@dataclass(frozen=True)
class ExperimentCost:
    """Cost of an experiment: parameters, FLOPs and tokens, counted without compilation.

    Attributes:
        parameters: total number, frozen ones included.
        flops: that the model needs in a step, in matrix products, over all devices; see `ops.flops`.
        tokens: per step.
        steps: total number.
    """

    parameters: int
    flops: int
    tokens: int
    steps: int

    @classmethod
    def of(cls, experiment: Experiment) -> 'ExperimentCost':
        """Trace a step.

        Raises:
            UserError: the parts do not fit each other, or the initial weights do not exist.
        """
        learner, state, rows = _traced(experiment)
        return cls(
            parameters=_count(state),
            flops=model_flops(learner.train_step, state, rows),
            tokens=experiment.tokens,
            steps=experiment.steps,
        )

    @property
    def flops_per_token(self) -> float:
        """FLOPs that the model needs per token of a training step."""
        return self.flops / self.tokens


def parameters_of(experiment: Experiment) -> int:
    """Return the number of parameters, as in `ExperimentCost`, without tracing a step.

    Raises:
        UserError: the parts do not fit each other, or the initial weights do not exist.
    """
    _, state, _ = _traced(experiment)
    return _count(state)


def _traced(experiment: Experiment) -> tuple[Learner, PyTree, PyTree]:
    """Return the learner, and the shapes of its first state and of a batch."""
    require_weights(experiment)
    require_lengths(experiment)
    require_ranking(experiment)
    learner, rows = make_learner(experiment), experiment.data().batch_like(experiment.batch_size)
    state = jax.eval_shape(lambda batch: learner.init(jax.random.key_data(jax.random.key(0)), batch), rows)
    return learner, state, rows


def _count(state: PyTree) -> int:
    return sum(int(np.prod(leaf.shape)) for leaf in jax.tree.leaves(state.params))
