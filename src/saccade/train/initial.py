# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Initial parameters of a model and its task: their shapes, their axes, and a program that computes them."""

import copy
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun
from jax.interpreters.partial_eval import dce_jaxpr
from jaxtyping import Array

from saccade.axes import AxesByPath, declared, in_float32, recorded_axes
from saccade.train.experiment import Experiment
from saccade.train.learner import cast
from saccade.train.optimizer import path_of
from saccade.train.scales import rescaled, scales_of
from saccade.types import Params, PRNGKey, UserError


@dataclass(frozen=True)
class Initial:
    """Initial parameters of a model and its task, traced once.

    Attributes:
        shapes: of the parameters: the model's, and those added by the task.
        own: shapes of the model's parameters only.
        axes: by path, of the parameters that declare them.
        program: computes the leaves of the parameters from a key and the task's numbers (`train.scales`).
    """

    shapes: Params
    own: Params
    axes: AxesByPath
    program: Callable[..., Sequence[Array]] = field(repr=False)

    @classmethod
    def of(cls, experiment: Experiment) -> 'Initial':
        """Trace the initialisation for rows of the experiment's data; experiments that differ in numbers share it."""
        leaves, structure = jax.tree.flatten(experiment.data().batch_like(1))
        marked = rescaled(experiment, dict.fromkeys(scales_of(experiment), 'argument'))
        key = marked['task'], experiment.model, tuple((leaf.shape, leaf.dtype) for leaf in leaves), structure
        return _initial(_TraceRequest((key, repr(key)), experiment))

    def __call__(self, key: PRNGKey, scales: Mapping[str, Any]) -> Params:
        """Return the parameters, without running the code of the model again."""
        return jax.tree.unflatten(jax.tree.structure(self.shapes), self.program(key, *_of_task(scales).values()))


@dataclass(frozen=True)
class _TraceRequest:
    """Request for a trace. Attributes: all that it depends on, also as text since 1 equals 1.0; an experiment."""

    key: tuple[Any, ...]
    experiment: Experiment = field(compare=False)


@functools.lru_cache(maxsize=8)
def _initial(asked: _TraceRequest) -> Initial:
    experiment = asked.experiment
    scales, like = scales_of(experiment), experiment.data().batch_like(1)
    model, made = _recorded(experiment.model())

    def init(key: PRNGKey, numbers: Mapping[str, Any]) -> tuple[Params, dict[str, Any]]:
        task = rescaled(experiment, {**scales, **numbers})['task']()
        rows = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), like)
        with recorded_axes():
            params = task.init(model, key, rows)
            # A user's task may make parameters without the model's `init`.
            return params, made[-1] if made else model.init(key, *task.inputs(model, key, rows))

    trace = jax.make_jaxpr(init, return_shape=True)
    traced, (params, variables) = trace(jax.random.key(0), _of_task(scales))
    wanted = len(jax.tree.leaves(params))
    used = [number < wanted for number in range(len(traced.jaxpr.outvars))]
    live, _ = dce_jaxpr(traced.jaxpr, used, instantiate=True)
    return Initial(params, variables['params'], declared(variables), jaxpr_as_fun(ClosedJaxpr(live, traced.consts)))


def _of_task(scales: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numbers of the task, in the order of their paths."""
    return {path: scales[path] for path in sorted(scales) if path.startswith('config.task.')}


def _recorded(model: Any) -> tuple[Any, list[dict[str, Any]]]:
    """Return the model, and a list that collects the variables of each `init`: a task returns only the parameters."""
    copied, made = copy.copy(model), []

    def init(*given: Any, **named: Any) -> dict[str, Any]:
        made.append(model.init(*given, **named))
        return made[-1]

    object.__setattr__(copied, 'init', init)  # a copy, not a wrapper: protocols check the attributes of the class
    return copied, made


def param_shapes(experiment: Experiment) -> Params:
    """Return the shapes of the initial parameters: the model's, and those added by the task."""
    return Initial.of(experiment).shapes


def in_dtype(params: Params, dtype: str, experiment: Experiment) -> Params:
    """Return the parameters of an experiment's model in a computation dtype; see `train.learner:cast`."""
    exact = frozenset() if dtype == 'float32' else in_float32(Initial.of(experiment).axes)  # a trace takes seconds
    return cast(params, dtype, exact)


def run_param_shapes(experiment: Experiment) -> Params:
    """Return the shapes of a run's parameters, from which its adapter computes the model's."""
    return kept(experiment)[0]


def kept(experiment: Experiment) -> tuple[Params, AxesByPath]:
    """Return the shapes of a run's parameters, and the declared axes by path.

    Raises:
        UserError: the task moves or changes the model's parameters.
    """
    adapter, initial = experiment.adapter, Initial.of(experiment)
    there = shapes_by_path(initial.shapes)
    if moved := [path for path, shape in shapes_by_path(initial.own).items() if there.get(path) != shape]:
        raise UserError(
            f"config.task: {experiment.task.name}.init must keep the model's parameters by name and shape, and has no "
            f"'{moved[0]}' of that shape; add weights of the task under a name of their own"
        )
    init = partial(adapter.init, axes=initial.axes)
    return jax.eval_shape(init, jax.random.key(0), initial.shapes), adapter.axes(initial.axes)


def shapes_by_path(params: Params) -> dict[str, tuple[int, ...]]:
    """Return the shapes of parameters by path."""
    return {path: leaf.shape for path, leaf in by_path(params).items()}


def by_path(params: Params) -> dict[str, Any]:
    """Return the leaves of parameters by path."""
    return {path_of(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(params)}
