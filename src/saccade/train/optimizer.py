# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Optimizer of a run: gradient clipping, rule, decoupled weight decay, learning rate, and its factors per parameter.

A rule is any optax gradient transformation without a learning rate, named by its import path:

    optax:scale_by_adam        AdamW: Loshchilov & Hutter 2019, https://arxiv.org/abs/1711.05101
    optax:scale_by_lion        Lion: Chen et al. 2023, https://arxiv.org/abs/2302.06675
    train.optimizer:muon       Muon: Jordan et al. 2024, https://kellerjordan.github.io/posts/muon/
    train.optimizer:adafactor  Adafactor: Shazeer & Stern 2018, https://arxiv.org/abs/1804.04235
    train.hyperball:hyperball  AdamH, MuonH: Wen et al. 2026, https://arxiv.org/abs/2606.16899, around another rule

Muon and Adafactor depend on the declared axes of parameters (`saccade.axes`), and so does weight decay: of the declared
parameters, kernels, embedding tables and those that declare decay have it. Of the others, such as a user's `nn.Dense`,
parameters with two axes or more in a layer have it, unless they are named bias or scale.
"""

import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import PyTree

from saccade.axes import AxesByPath, KernelAxes, copies_in, has_decay, most_of
from saccade.layer_paths import IN_A_STACK
from saccade.ops.statistic import is_statistic
from saccade.types import Count, NotNegative, Params, Part, Positive, Range, Scales, Share, UserError, is_zero

__all__ = ['Optimizer', 'adafactor', 'muon']

AtWidth = Callable[[int], Params]  # shapes of the same parameters at another width of the model

_NO_KERNEL = re.compile(r'(^|/|_)(bias|scale)$')

# Hyperparameters of optax's rules, whose names are the same in all of them; optax's annotations declare no ranges.
OF_OPTAX = {
    **dict.fromkeys(('b1', 'b2', 'b3', 'decay', 'momentum'), Range(least=0, below=1)),
    **dict.fromkeys(('eps', 'eps_root', 'eps_in_sqrt', 'initial_accumulator_value'), Range(least=0)),
}


@runtime_checkable
class Rates(Protocol):
    """Protocol of learning-rate factors: `train.rates:LayerWise`, `train.rates:Frozen`, `train.mup:MuP`.

    `of_decay` is True if they are factors of the weight decay too, which is multiplied by the learning rate.
    """

    of_decay: ClassVar[bool]

    def __call__(self, params: Params, axes: AxesByPath, at_width: AtWidth | None = None) -> PyTree:
        """Return a factor, or a broadcastable array of factors, for each leaf; `params` may be shapes.

        Args:
            at_width: returns the shapes of the parameters at another width of the model; None if it is unknown.
        """
        ...


@runtime_checkable
class Projection(Protocol):
    """Protocol of projections of parameters onto a set: `train.unit_vectors:UnitVectors`."""

    def __call__(self, params: Params, axes: AxesByPath) -> Params:
        """Return the parameters projected, in their own dtypes; frozen ones are left out, and statistics only read."""
        ...


@runtime_checkable
class Skip(Protocol):
    """Protocol of what skips steps: `train.leaps:SkipLeaps`."""

    def __call__(self, optimizer: optax.GradientTransformation) -> optax.GradientTransformationExtraArgs:
        """Return the optimizer with steps skipped; its update takes the loss, `value`, and its state has `skipped`."""
        ...


@dataclass(frozen=True)
class RuleByAxes:
    """Rule that depends on the axes of parameters.

    Attributes:
        of: a function from these axes to the gradient transformation.
        last: the same for a transformation of what is added to the parameters; None for none.
    """

    of: Callable[[AxesByPath], optax.GradientTransformation]
    last: Callable[[AxesByPath], optax.GradientTransformation] | None = None


@dataclass(frozen=True)
class Optimizer:
    """Optimizer: the update is -rate * (rule(clipped gradient) + weight_decay * parameter), the rate per parameter.

    Weight decay is multiplied by the learning rate, as in PyTorch and optax. Parameters with a factor of 0 are frozen:
    they do not change, have no moments and do not count in the clipped norm. Statistics do not count in it either;
    their update is their negative gradient and nothing else (`saccade.ops.statistic`). A learned parameter that
    declares an upper bound is at or below it after each step. `decays` gives the parameters that decay.

    Attributes:
        rule: a gradient transformation without a learning rate, or a `RuleByAxes` that makes one.
        weight_decay: fraction of a parameter that is subtracted in a step at a learning rate of 1.
        no_decay: a regex; parameters with a match in their path, as '^embedding$', do not decay either. None: all
            kernels and embedding tables decay.
        clip_norm: greatest L2 norm of the whole gradient. None: no clipping.
        rates: factors of the learning rate by parameter; the factors of several parts are multiplied. None: all are 1.
        projection: of the learned parameters, after each update; it may read statistics. None: no constraints.
        skip: of whole steps, such as `train.leaps:SkipLeaps`. None: none is skipped.
    """

    rule: Part
    weight_decay: Scales[NotNegative] = 0.0
    no_decay: str | None = None
    clip_norm: Scales[Positive] | None = None
    rates: Part[Rates] | tuple[Part[Rates], ...] | None = None
    projection: Part[Projection] | None = None
    skip: Part[Skip] | None = None

    def __call__(
        self, schedule: optax.Schedule, params: Params, axes: AxesByPath, at_width: AtWidth | None = None
    ) -> optax.GradientTransformation:
        """Return the transformation for parameters with the paths of `params`, arrays or shapes.

        Args:
            axes: of the parameters that declare them; the others are not kernels to any rule.
            at_width: as for `Rates`.

        Raises:
            UserError: a number of the rule is out of range, the rule has its own learning rate, or all parameters are
                frozen.
        """
        self._check()
        of_rule, of_both = (
            product((rates for rates in self._rates() if rates.of_decay == both), params, axes, at_width)
            for both in (False, True)
        )
        kinds = _kinds(jax.tree.map(np.multiply, of_rule, of_both))
        clip = optax.identity() if self.clip_norm is None else optax.clip_by_global_norm(self.clip_norm)
        decay = optax.add_decayed_weights(self.weight_decay, self.decays(params, axes))
        slow, slow_both = _multiply(of_rule, kinds), _multiply(of_both, kinds)
        rule, last = made_rule(self.rule, axes, 'optimizer.rule')
        learned = optax.chain(clip, rule, slow, decay, slow_both, _descend(schedule), *last)
        whole = optax.partition(
            {'learned': learned, 'statistic': optax.scale(-1.0), 'frozen': optax.set_to_zero()}, kinds
        )
        projections = [] if self.projection is None else [self.projection()]
        if any(most_of(declared) is not None for declared in axes.values()):
            projections.append(_bounded)
        for projection in projections:
            whole = _onto(projection, whole, axes, kinds)
        return whole if self.skip is None else self.skip()(whole)

    def decays(self, params: Params, axes: AxesByPath) -> PyTree[bool]:
        """Return True for each leaf that decays.

        Raises:
            UserError: `no_decay` is not a regex.
        """
        learned = product((rates for rates in self._rates() if rates.of_decay), params, axes)

        def is_marked(path: str, leaf: Any) -> bool:
            if self.no_decay is not None and finds(self.no_decay, path, 'optimizer.no_decay'):
                return False
            if path in axes:
                return has_decay(axes[path])
            return leaf.ndim - bool(IN_A_STACK.match(path)) >= 2 and not _NO_KERNEL.search(path)

        marks = each_leaf(params, is_marked)
        any_decay = not is_zero(self.weight_decay)
        return jax.tree.map(lambda mark, factor: bool(any_decay and np.any(factor)) and mark, marks, learned)

    def frozen(self, params: Params, axes: AxesByPath, at_width: AtWidth | None = None) -> frozenset[str]:
        """Return the paths of the parameters that do not change; arguments as for a call."""
        kinds = _kinds(product(self._rates(), params, axes, at_width))
        return frozenset(path_of(path) for path, kind in jax.tree_util.tree_leaves_with_path(kinds) if kind == 'frozen')

    def _rates(self) -> list[Rates]:
        given = self.rates or ()
        return [part() for part in (given if isinstance(given, tuple) else (given,))]

    def _check(self) -> None:
        if 'learning_rate' in inspect.signature(self.rule.target).parameters:
            raise UserError(
                f'optimizer.rule: {self.rule.name} has a learning rate of its own, and `schedule` gives that;'
                " name a rule without, as in 'optax:scale_by_adam' or 'train.optimizer:adafactor'"
            )
        for part in self.rule.walk():
            for name, value in part.arguments:
                bounds = OF_OPTAX.get(name)
                if bounds is not None and isinstance(value, int | float) and value not in bounds:
                    raise UserError(f'optimizer.rule: {part.name}: {name} must be {bounds}, not {value}')


def product(made: Iterable[Rates], params: Params, axes: AxesByPath, at_width: AtWidth | None = None) -> PyTree:
    """Multiply the factors of several parts for each leaf; 1 if there are none."""
    factors = each_leaf(params, lambda path, leaf: 1.0)
    for rates in made:
        factors = jax.tree.map(np.multiply, factors, rates(params, axes, at_width))
    return factors


def path_of(keypath: tuple[Any, ...]) -> str:
    """Format a key path of `jax.tree_util`, as in 'layers/pattern_0/mixer/query'."""
    return jax.tree_util.keystr(keypath, simple=True, separator='/')


def each_leaf(params: Params, function: Callable[[str, Any], Any]) -> PyTree:
    """Map a function of path and leaf over the leaves."""
    return jax.tree_util.tree_map_with_path(lambda path, leaf: function(path_of(path), leaf), params)


def is_gradient(gradient: Params) -> PyTree[bool]:
    """Return a tree with True for gradients of the loss, and False for updates of running statistics."""
    return each_leaf(gradient, lambda path, _: not is_statistic(path))


def finds(pattern: str, path: str, field: str) -> bool:
    """Return True if a regex has a match in the path of a parameter.

    Args:
        field: config field of the regex, for messages.

    Raises:
        UserError: it is not a regex.
    """
    try:
        return re.search(pattern, path) is not None
    except re.error as error:
        raise UserError(f"{field}: '{pattern}' is not a regular expression: {error}") from None


def muon(
    momentum: Scales[Share] = 0.95,
    iterations: Count = 5,
    rms: Scales[Positive] | None = 0.2,
    others: Part | None = None,
) -> RuleByAxes:
    """Orthogonalise the momentum of each hidden kernel, a matrix per layer and expert; all other parameters use Adam.

    Embeddings and output layers use Adam, as in Jordan et al.; so do several kernels in one parameter, as a cell's
    gates are, since these are several matrices. The declared axes tell them apart: `KernelAxes.is_hidden`.

    Args:
        momentum: decay rate of the first moment, in its Nesterov form.
        iterations: Newton-Schulz iterations.
        rms: root mean square of a full-rank kernel's update at a learning rate of 1. At 0.2, about that of
            Adam, one schedule serves both (Liu et al. 2025, section 2.2, https://arxiv.org/abs/2502.16982).
            None: the original scale, sqrt(max(1, fan_out / fan_in)) times an orthogonal matrix.
        others: rule of the parameters that are not hidden kernels. None: optax's scale_by_adam.

    Raises:
        UserError: when called with parameters without a hidden kernel.
    """

    def of(axes: AxesByPath) -> optax.GradientTransformation:
        matrices = optax.contrib.muon(
            learning_rate=1.0,
            beta=momentum,
            ns_steps=iterations,
            consistent_rms=rms,
            muon_weight_dimension_numbers=lambda params: each_leaf(params, lambda path, _: _matrix(axes.get(path))),
        )
        rules = {
            # optax's muon descends; here the learning rate gives the minus sign.
            'kernel': optax.chain(matrices, optax.scale(-1.0)),
            'other': made_rule(others, axes, 'optimizer.rule.others')[0] if others else optax.scale_by_adam(),
        }
        return optax.partition(rules, lambda params: _muon_labels(params, axes))

    return RuleByAxes(of)


def adafactor(
    decay_rate: Scales[Positive] = 0.8,
    clipping_threshold: Scales[Positive] | None = 1.0,
    minimum_size: Count = 128,
    parameter_scale: bool = True,
) -> RuleByAxes:
    """Scale by a factored second moment, separately for each layer and expert of a stacked parameter.

    The two longest axes are factored and the others kept: of [D N H], often D and H.

    Args:
        decay_rate: the second moment's decay at step t is 1 - t^-decay_rate.
        clipping_threshold: greatest root mean square of a layer's update. None: no clipping.
        minimum_size: least length of both factored axes; below it nothing is factored.
        parameter_scale: multiply by the root mean square of the layer: the rate is relative to it.
    """
    descent = optax.adafactor(
        decay_rate=decay_rate,
        clipping_threshold=clipping_threshold,
        min_dim_size_to_factor=minimum_size,
        multiply_by_parameter_scale=parameter_scale,
    )
    rule = optax.chain(descent, optax.scale(-1.0))

    def of(axes: AxesByPath) -> optax.GradientTransformation:
        rules = {'stacked': _by_copy(rule, axes), 'single': rule}
        return optax.partition(
            rules,
            lambda params: each_leaf(params, lambda path, _: 'stacked' if copies_in(axes.get(path, '')) else 'single'),
        )

    return RuleByAxes(of)


def made_rule(
    part: Part, axes: AxesByPath, field: str
) -> tuple[optax.GradientTransformation, list[optax.GradientTransformation]]:
    """Build the rule of a config field, and what it does last to the updates of parameters, if anything."""
    rule = part()
    made = rule.of(axes) if isinstance(rule, RuleByAxes) else rule
    if not isinstance(made, optax.GradientTransformation):
        raise UserError(f"{field}: {part.name} does not make a gradient transformation; 'optax:scale_by_adam' does")
    return made, [rule.last(axes)] if isinstance(rule, RuleByAxes) and rule.last else []


def _kinds(factors: PyTree) -> PyTree[str]:
    """Return the kind of update of each leaf, given the factor of its learning rate."""

    def kind(path: str, factor: Any) -> str:
        return 'frozen' if not np.any(factor) else 'statistic' if is_statistic(path) else 'learned'

    kinds = each_leaf(factors, kind)
    if 'learned' not in jax.tree.leaves(kinds):
        raise UserError('optimizer.rates: they freeze every parameter; nothing is left to learn')
    return kinds


def _multiply(factors: PyTree, kinds: PyTree[str]) -> optax.GradientTransformation:
    """Multiply the updates of learned parameters; `optax.partition` masks the rest."""
    learned = jax.tree.map(lambda kind, factor: factor if kind == 'learned' else optax.MaskedNode(), kinds, factors)
    return optax.stateless(
        lambda updates, params: jax.tree.map(
            lambda update, factor: (factor * update).astype(update.dtype), updates, learned
        )
    )


def _descend(schedule: optax.Schedule) -> optax.GradientTransformationExtraArgs:
    """Multiply by minus the learning rate: the argument of the update, else the value of the schedule."""

    def update(updates: PyTree, state: PyTree, params: PyTree = None, *, learning_rate: Any = None, **others: Any):
        rate = schedule if learning_rate is None else lambda count: learning_rate
        return optax.scale_by_learning_rate(rate).update(updates, state, params)

    return optax.GradientTransformationExtraArgs(optax.scale_by_learning_rate(schedule).init, update)


def _onto(
    project: Projection, optimizer: optax.GradientTransformation, axes: AxesByPath, kinds: PyTree[str]
) -> optax.GradientTransformationExtraArgs:
    """Return the optimizer with updates whose result is the projection of what it would be; it adds no state."""
    inner = optax.with_extra_args_support(optimizer)

    def update(updates: PyTree, state: PyTree, params: PyTree, **others: Any) -> tuple[PyTree, PyTree]:
        updates, state = inner.update(updates, state, params, **others)
        moved = jax.tree.map(_unless_frozen, kinds, optax.apply_updates(params, updates))
        projected = project(moved, axes)

        def of_leaf(kind: str, update: Any, new: Any, old: Any) -> Any:
            return new - old if kind == 'learned' else update

        return jax.tree.map(of_leaf, kinds, updates, projected, params), state

    return optax.GradientTransformationExtraArgs(inner.init, update)


def _unless_frozen(kind: str, leaf: Any) -> Any:
    return optax.MaskedNode() if kind == 'frozen' else leaf


def _bounded(params: Params, axes: AxesByPath) -> Params:
    """Project parameters onto their declared upper bounds."""
    bounds = {path: most_of(declared) for path, declared in axes.items()}
    return each_leaf(params, lambda path, leaf: leaf if bounds.get(path) is None else jnp.minimum(leaf, bounds[path]))


def _matrix(axes: str | None) -> optax.contrib.MuonDimensionNumbers | None:
    """Return the contracted and the made axes of a hidden kernel, among its last; None for any other parameter."""
    kernel = KernelAxes.of(axes)
    if kernel is None or not kernel.is_hidden:
        return None
    inputs, outputs = len(kernel.contracted), len(kernel.made)
    return optax.contrib.MuonDimensionNumbers(tuple(range(-inputs - outputs, -outputs)), tuple(range(-outputs, 0)))


def _muon_labels(params: Params, axes: AxesByPath) -> PyTree[str]:
    labels = each_leaf(params, lambda path, _: 'kernel' if _matrix(axes.get(path)) else 'other')
    if 'kernel' not in jax.tree.leaves(labels):
        raise UserError(
            'optimizer.rule: muon finds no hidden kernel among the parameters that are trained: '
            "none declares axes as 'D -> F'; a part declares them by saccade.axes:parameter"
        )
    return labels


def _by_copy(rule: optax.GradientTransformation, axes: AxesByPath) -> optax.GradientTransformation:
    """Apply a rule to each copy in a stacked leaf, of a layer or of an expert, as to a separate parameter."""

    def each(function: Callable[..., PyTree], params: Params, *rest: PyTree) -> PyTree:
        def of_leaf(keypath: Any, *leaves: Any) -> PyTree:
            mapped = function
            for _ in range(copies_in(axes[path_of(keypath)])):
                mapped = jax.vmap(mapped)
            return mapped(*leaves)

        return jax.tree_util.tree_map_with_path(of_leaf, params, *rest)

    def init(params):
        return each(rule.init, params)

    def update(updates, state, params):
        pairs = each(rule.update, updates, state, params)
        return tuple(jax.tree.map(lambda _, pair, side=side: pair[side], updates, pairs) for side in (0, 1))

    return optax.GradientTransformation(init, update)
