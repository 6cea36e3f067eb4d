# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Training step as a pure function: (state, batch) -> (state, metrics).

    g = sum over microbatches and devices of grad(sum over losses i of total_i / W_i)

W_i is the weight of loss i in the whole batch, such as its number of targets or tokens; a task has one or several
losses, and its model's parts add theirs. Totals and weights are summed before the division, so a step is independent of
the distribution of its rows over microbatches, devices and processes. The exceptions are parts that declare
`mixes_rows`: they compute a function of several rows: of a microbatch under `accumulate`, of a device under `pmap`, and
of the whole batch over a mesh, by `jit`.

Schedule-free training takes gradients between the trained parameters z and their average x, which evaluation uses:

    y_t = z_t + beta (x_t - z_t),   z_(t+1) = z_t + update of the optimizer for grad f(y_t),
    x_(t+1) = x_t + c_t (z_(t+1) - x_t),   c_t = rate_t^2 / sum over s <= t of rate_s^2

Defazio et al. 2024, "The Road Less Scheduled", https://arxiv.org/abs/2405.15682. Here the weight decay is of z.
"""

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import optax
from einops import rearrange
from flax import struct
from jaxtyping import Array, Float, Int, PyTree

from saccade.axes import AxesByPath
from saccade.ops.dead_code import without_dead_code
from saccade.ops.statistic import is_statistic
from saccade.train.adapter import Adapter, Whole
from saccade.train.optimizer import each_leaf, is_gradient
from saccade.types import AcrossRows, Batch, ByStep, Metric, Params, Scales, Task, Total, is_zero

Metrics = dict[str, Array]
Scaled = Mapping[str, Any]  # numbers or, at tracing, arrays


@struct.dataclass
class TrainState:
    """Training state: everything that is passed from step to step and stored in a checkpoint.

    Attributes:
        step: number of completed steps.
        params: trained parameters, from which the run's adapter derives the model's.
        key: raw data of the run's PRNG key; each step folds its number in.
        ema: average of these parameters, moving or schedule-free, if enabled.
        squared_rates: sum of the squares of all learning rates, for the schedule-free average.
    """

    step: Int[Array, '*devices']
    params: Params
    opt_state: PyTree
    key: Array
    ema: Params | None
    squared_rates: Float[Array, '*devices'] | None = None

    @property
    def averaged(self) -> Params:
        """Parameters for evaluation: the average if there is one, otherwise the parameters."""
        return self.params if self.ema is None else self.ema


@dataclass(frozen=True)
class Learner:
    """Training step and evaluation step of a model, as pure functions; it holds no arrays.

    Attributes:
        accumulate: number of microbatches per step.
        ema: decay of the average of the parameters, which is less in the first steps; 0 for none.
        schedule_free: weight of the schedule-free average in the parameters that gradients are of; 0 for none.
        axis: name of the device axis to sum over, under `pmap`.
        adapter: derives the model's parameters from the trained ones.
        place: gathers the model's parameters, in the computation dtype, where they are used.
        axes: declared axes of each parameter of a state, by path, as 'D -> N H'.
        exact: paths of the model's parameters that keep float32, as in `axes.in_float32`.
        frozen: paths of parameters that the optimizer does not change, whose gradients are 0 and cost nothing.
        scales: numbers that are arguments of compiled programs, by config path; see `train.scales`.
        rescaled: returns the fields of the learner that depend on given scales.
        initial: returns the model's initial parameters from a key and scales; None for `task.init`.
    """

    model: Any
    task: Task
    optimizer: optax.GradientTransformation
    schedule: optax.Schedule
    dtype: str
    accumulate: int = 1
    ema: Scales[float] = 0.0
    schedule_free: Scales[float] = 0.0
    axis: str | None = None
    adapter: Adapter = Whole()  # noqa: RUF009, it is frozen
    place: Callable[[Params], Params] = lambda params: params
    axes: AxesByPath = field(default_factory=dict)
    exact: frozenset[str] = frozenset()
    frozen: frozenset[str] = frozenset()
    scales: Scaled = field(default_factory=dict)
    rescaled: Callable[[Scaled], Mapping[str, Any]] = lambda scales: {}
    initial: Callable[[Array, Scaled], Params] | None = None

    reports: ClassVar[tuple[Metric, ...]] = (
        Metric('loss', 'lowest'),
        Metric('gradient_norm', None, 0.0),
        Metric('learning_rate', None, 0.0),
        Metric('skipped_steps', 'lowest', 0.0),
    )

    def init(self, key: Array, batch: Batch, scales: Scaled | None = None) -> TrainState:
        """Return the initial state; `key` is raw key data, `scales` as for a step."""
        optimizer = self._of(scales).optimizer
        initial, run = jax.random.split(jax.random.wrap_key_data(key))
        if self.initial is None:
            made = self.task.init(self.model, initial, batch)
        else:
            made = self.initial(initial, self.scales if scales is None else scales)
        params = self.adapter.init(jax.random.fold_in(initial, 1), made, self.axes)
        return TrainState(
            step=jnp.zeros((), jnp.int32),
            params=params,
            opt_state=optimizer.init(params),
            key=jax.random.key_data(run),
            ema=None if is_zero(self.ema) and is_zero(self.schedule_free) else jax.tree.map(jnp.copy, params),
            squared_rates=None if is_zero(self.schedule_free) else jnp.zeros(()),
        )

    def train_step(
        self, state: TrainState, batch: Batch, rate: Float[Array, ''] | None = None, scales: Scaled | None = None
    ) -> tuple[TrainState, Metrics]:
        """Take one step. In the metrics, `squares` has each gradient leaf's sum of squares.

        Args:
            rate: learning rate of this step; None for the schedule's. As an argument it keeps the schedule out of the
                program, so runs that differ only in the schedule share it.
            scales: replacements of the learner's own `scales`; None for these. As arguments they let runs that differ
                in them share the program.
        """
        learner = self._of(scales)
        totals, gradient = learner._gradient(state.replace(params=learner._point(state)), batch)
        rate = learner.schedule(state.step) if rate is None else rate
        optimizer = optax.with_extra_args_support(learner.optimizer)
        metrics = {name: total.mean() for name, total in totals.items()}
        given = {'learning_rate': rate, 'value': metrics['loss']}
        updates, opt_state = optimizer.update(gradient, state.opt_state, state.params, **given)
        params = optax.apply_updates(state.params, updates)
        averages = learner._averages(state, params, rate)
        squares = jnp.stack([jnp.sum(jnp.square(leaf)) for leaf in jax.tree.leaves(gradient)])
        if (skipped := optax.tree.get(opt_state, 'skipped')) is not None:
            metrics['skipped_steps'] = skipped
        metrics |= {
            'gradient_norm': jnp.sqrt(squares.sum(where=jnp.array(jax.tree.leaves(is_gradient(gradient))))),
            'learning_rate': rate,
            'squares': squares,
        }
        return state.replace(step=state.step + 1, params=params, opt_state=opt_state, **averages), metrics

    def eval_step(self, params: Params, batch: Batch, scales: Scaled | None = None) -> dict[str, Total]:
        """Return the totals of one batch, without dropout; also by microbatches, to fit the memory of a step."""
        task = self._of(scales)._task

        def microbatch(number: Array, rows: Batch) -> dict[str, Total]:
            return task.loss(self.model, self._cast(params), rows, jax.random.key(0), False)

        return self._summed(self._accumulated(microbatch, batch))

    @property
    def _task(self) -> Task:
        """Task, which may compare rows across all devices."""
        return self.task.across(self.axis) if self.axis and isinstance(self.task, AcrossRows) else self.task

    def _of(self, scales: Scaled | None) -> 'Learner':
        return replace(self, **self.rescaled(scales)) if scales else self

    def weights(self, state: TrainState) -> Params:
        """Return the model's parameters for evaluation."""
        return self.adapter.merged(state.averaged)

    def _gradient(self, state: TrainState, batch: Batch) -> tuple[dict[str, Total], Params]:
        key = jax.random.fold_in(jax.random.wrap_key_data(state.key), state.step)
        if self.axis:
            key = jax.random.fold_in(key, jax.lax.axis_index(self.axis))
        task = self._task.at_step(state.step) if isinstance(self._task, ByStep) else self._task

        def totals_of(params: Params, number: Array, rows: Batch, key: Array) -> dict[str, Total]:
            return task.loss(self.model, self._cast(params), rows, jax.random.fold_in(key, number), True)

        weight = None
        if self.accumulate > 1:  # first loop over the microbatches, for their weights only
            totals_of = jax.jit(totals_of)  # both loops share one trace of the model
            own_weight = without_dead_code(lambda *rows: totals_of(state.params, *rows, key)['loss'].weight)
            weight = self._summed(self._accumulated(own_weight, batch))

        def mean_loss(params: Params, number: Array, rows: Batch) -> tuple[Float[Array, ''], dict[str, Total]]:
            totals = totals_of(self._with_constants(params), number, rows, key)
            whole = self._summed(totals['loss'].weight) if weight is None else weight
            return totals['loss'].replace(weight=jax.lax.stop_gradient(whole)).mean(), totals

        def microbatch(number: Array, rows: Batch) -> tuple[Params, dict[str, Total]]:
            return jax.grad(mean_loss, has_aux=True)(state.params, number, rows)

        gradient, totals = self._summed(self._accumulated(microbatch, batch))
        return totals, gradient

    def _with_constants(self, params: Params) -> Params:
        """Return the parameters with the frozen ones as constants, so that their gradients are not computed."""
        constant = jax.lax.stop_gradient
        return each_leaf(params, lambda path, leaf: constant(leaf) if path in self.frozen else leaf)

    def _cast(self, params: Params) -> Params:
        # Merge before rounding: in bfloat16 a small update of a large weight would be lost.
        return self.place(cast(self.adapter.merged(params), self.dtype, self.exact))

    def _point(self, state: TrainState) -> Params:
        """Return the parameters that gradients are of: between the trained ones and their schedule-free average."""
        return state.params if is_zero(self.schedule_free) else _between(state.params, state.ema, self.schedule_free)

    def _averages(self, state: TrainState, params: Params, rate: Float[Array, ''] | float) -> dict[str, Any]:
        """Return the fields of the state that average its parameters, after a step to `params`.

        The decay of a moving average is smaller in the first steps (as in TensorFlow).
        """
        if not is_zero(self.schedule_free):
            squared_rates = state.squared_rates + rate**2
            share = jnp.where(squared_rates > 0, rate**2 / squared_rates, 1.0)
            return {'ema': _between(state.ema, params, share), 'squared_rates': squared_rates}
        if is_zero(self.ema):
            return {}
        move = 1.0 - jnp.minimum(self.ema, (1 + state.step) / (10 + state.step))
        return {'ema': jax.tree.map(partial(_moved, share=move), state.ema, params)}

    def _accumulated(self, microbatch: Any, batch: Batch) -> PyTree:
        if self.accumulate == 1:
            return microbatch(jnp.zeros((), jnp.int32), batch)
        # Strided microbatches, so that each device keeps its own rows.
        parts = {name: rearrange(rows, '(B A) ... -> A B ...', A=self.accumulate) for name, rows in batch.items()}
        numbers = jnp.arange(self.accumulate)
        zeros = jax.tree.map(
            lambda leaf: jnp.zeros(leaf.shape, leaf.dtype),
            jax.eval_shape(microbatch, numbers[0], {name: rows[0] for name, rows in parts.items()}),
        )

        def add(sums: PyTree, part: PyTree) -> tuple[PyTree, None]:
            return jax.tree.map(jnp.add, sums, microbatch(*part)), None

        return jax.lax.scan(add, zeros, (numbers, parts))[0]

    def _summed(self, tree: PyTree) -> PyTree:
        return jax.lax.psum(tree, self.axis) if self.axis else tree


def _between(one: Params, other: Params, share: Any) -> Params:
    """Move parameters towards others by a share of the distance; statistics, which no gradient moves, all the way."""
    shares = each_leaf(one, lambda path, _: 1.0 if is_statistic(path) else share)
    return jax.tree.map(_moved, one, other, shares)


def _moved(old: Array, new: Array, share: Any) -> Array:
    # In this form the average of a constant is exact.
    return old + share * (new - old)


def cast(params: Params, dtype: str, exact: Container[str]) -> Params:
    """Return parameters in the computation dtype, but for statistics and those whose paths are in `exact`.

    In bfloat16 a small update of a large statistic would be lost, and a frequency of 97.4 would be 97.5.
    """
    return each_leaf(params, lambda path, leaf: leaf if path in exact or is_statistic(path) else leaf.astype(dtype))
