# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Optimizer of a run: gradient clipping, rule, decoupled weight decay, learning rate, and factors of it by parameter.

A rule is any optax gradient transformation that knows no learning rate, named by its import path:

    optax:scale_by_adam        AdamW: Loshchilov & Hutter 2019, https://arxiv.org/abs/1711.05101
    optax:scale_by_lion        Lion: Chen et al. 2023, https://arxiv.org/abs/2302.06675
    train.optimizer:muon       Muon: Jordan et al. 2024, https://kellerjordan.github.io/posts/muon/
    train.optimizer:adafactor  Adafactor: Shazeer & Stern 2018, https://arxiv.org/abs/1804.04235
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import jax
import numpy as np
import optax
from jaxtyping import PyTree

from saccade.ops.statistic import is_statistic
from saccade.types import Count, NotNegative, Params, Part, Positive, Range, Share, UserError

NO_DECAY = r'(^|/|_)(bias|scale)$'

# What each kernel contracts and what it makes, as its last axes. Axes before these are layers or experts.
KERNELS = {
    'query': 'D -> N H',
    'key': 'D -> K H',
    'value': 'D -> K H',
    'output': 'N H -> D',
    'up': 'D -> F',
    'gate': 'D -> F',
    'down': 'F -> D',
    'mixer/gate': 'D -> N H',
    'cross/gate': 'D -> N H',
}

# Hyperparameters of optax's rules, by the names that all of them have for these; its annotations state no ranges.
_OF_OPTAX = {
    **dict.fromkeys(('b1', 'b2', 'b3', 'decay', 'momentum'), Range(least=0, below=1)),
    **dict.fromkeys(('eps', 'eps_root', 'eps_in_sqrt', 'initial_accumulator_value'), Range(least=0)),
}

KernelAxes = optax.contrib.MuonDimensionNumbers


@runtime_checkable
class Rates(Protocol):
    """Protocol of learning-rate factors: `train.rates:LayerWise`, `train.rates:Frozen`, `train.mup:MuP`.

    `of_decay` declares that they are factors of the weight decay too, which is multiplied by the learning rate.
    """

    of_decay: ClassVar[bool]

    def __call__(self, params: Params) -> PyTree:
        """Return a factor, or an array of them that broadcasts, for each leaf; `params` may be shapes."""
        ...


@dataclass(frozen=True)
class Optimizer:
    """Optimizer: the update is -rate * (rule(clipped gradient) + weight_decay * parameter), the rate by parameter.

    Weight decay is multiplied by the learning rate, as in PyTorch and optax. Parameters with a factor of 0 are frozen:
    they do not change, keep no moments and do not count in the clipped norm. Nor do statistics, whose update is their
    negative gradient and nothing else (`saccade.ops.statistic`).

    Attributes:
        rule: a gradient transformation without a learning rate.
        weight_decay: fraction of a parameter taken off a step at a learning rate of 1.
        no_decay: a regex; parameters with a match in their path, 'layers/pattern_0/norm/scale', do not decay.
        clip_norm: greatest L2 norm of the whole gradient. None: no clipping.
        rates: factors of the learning rate by parameter; those of several are multiplied. None: all are 1.
    """

    rule: Part
    weight_decay: NotNegative = 0.0
    no_decay: str = NO_DECAY
    clip_norm: Positive | None = None
    rates: Part[Rates] | tuple[Part[Rates], ...] | None = None

    def __call__(self, schedule: optax.Schedule, params: Params) -> optax.GradientTransformation:
        """Return the transformation for parameters with the paths of `params`, arrays or shapes.

        Raises:
            UserError: a field is out of range, the rule brings its own learning rate, or nothing is left to learn.
        """
        self._check()
        given = self.rates or ()
        made = [part() for part in (given if isinstance(given, tuple) else (given,))]
        kinds = _kinds(product(made, params))
        clip = optax.identity() if self.clip_norm is None else optax.clip_by_global_norm(self.clip_norm)
        decay = optax.add_decayed_weights(self.weight_decay, decays(params, self.no_decay))
        of_rule, of_both = (
            _multiply(product([rates for rates in made if rates.of_decay == both], params), kinds)
            for both in (False, True)
        )
        learned = optax.chain(clip, self._rule(), of_rule, decay, of_both, optax.scale_by_learning_rate(schedule))
        return optax.partition(
            {'learned': learned, 'statistic': optax.scale(-1.0), 'frozen': optax.set_to_zero()}, kinds
        )

    def _rule(self) -> optax.GradientTransformation:
        rule = self.rule()
        if not isinstance(rule, optax.GradientTransformation):
            raise UserError(
                f"optimizer.rule: {self.rule.name} makes no gradient transformation; 'optax:scale_by_adam' does"
            )
        return rule

    def _check(self) -> None:
        if 'learning_rate' in inspect.signature(self.rule.target).parameters:
            raise UserError(
                f'optimizer.rule: {self.rule.name} has a learning rate of its own, and `schedule` gives that;'
                " name a rule without, as in 'optax:scale_by_adam' or 'train.optimizer:adafactor'"
            )
        if self.weight_decay < 0:
            raise UserError(f'optimizer.weight_decay: must be 0 or more, not {self.weight_decay}')
        for part in self.rule.walk():
            for name, value in part.arguments:
                bounds = _OF_OPTAX.get(name)
                if bounds is not None and isinstance(value, int | float) and value not in bounds:
                    raise UserError(f'optimizer.rule: {part.name}: {name} must be {bounds}, not {value}')
        if self.clip_norm is not None and self.clip_norm <= 0:
            raise UserError(f'optimizer.clip_norm: must be positive, or None for none, not {self.clip_norm}')


def decays(params: Params, no_decay: str = NO_DECAY) -> PyTree[bool]:
    """Mark the leaves whose path the regex does not find.

    Raises:
        UserError: it is not a regex.
    """
    return each_leaf(params, lambda path, _: not finds(no_decay, path, 'optimizer.no_decay'))


def product(made: Iterable[Rates], params: Params) -> PyTree:
    """Multiply the factors that several give each leaf; 1 where there are none."""
    factors = each_leaf(params, lambda path, leaf: 1.0)
    for rates in made:
        factors = jax.tree.map(np.multiply, factors, rates(params))
    return factors


def path_of(keypath: tuple[Any, ...]) -> str:
    """Write a key path of `jax.tree_util` as in 'layers/pattern_0/mixer/query'."""
    return jax.tree_util.keystr(keypath, simple=True, separator='/')


def each_leaf(params: Params, function: Callable[[str, Any], Any]) -> PyTree:
    """Map a function of path and leaf over the leaves."""
    return jax.tree_util.tree_map_with_path(lambda path, leaf: function(path_of(path), leaf), params)


def finds(pattern: str, path: str, field: str) -> bool:
    """Whether a regex has a match in the path of a parameter.

    Args:
        field: of the config, where the regex stands.

    Raises:
        UserError: it is not a regex.
    """
    try:
        return re.search(pattern, path) is not None
    except re.error as error:
        raise UserError(f"{field}: '{pattern}' is not a regular expression: {error}") from None


def named(table: Mapping[str, Any], path: str) -> str | None:
    """Return the longest name in a table that the path ends in; None where there is none."""
    return max((name for name in table if f'/{path}'.endswith(f'/{name}')), key=len, default=None)


def kernel_axes(further: Iterable[tuple[str, str]], field: str) -> dict[str, KernelAxes]:
    """Return which axes a kernel contracts and which it makes, by its name: of KERNELS and of further ones.

    Args:
        field: of the config, where the further ones stand.

    Raises:
        UserError: axes are not written as in 'N H -> D'.
    """
    return {name: _matrix_axes(letters, f'{field}.{name}') for name, letters in {**KERNELS, **dict(further)}.items()}


def axes_of(axes: Mapping[str, KernelAxes], path: str, leaf: Any) -> KernelAxes | None:
    """Return the axes of a leaf that is a kernel, as `kernel_axes` knows them; None for any other."""
    found = axes.get(named(axes, path))
    return found if found and leaf.ndim >= -found.reduction_axis[0] else None


def muon(
    momentum: Share = 0.95,
    iterations: Count = 5,
    rms: Positive | None = 0.2,
    kernels: tuple[tuple[str, str], ...] = (),
    others: Part | None = None,
) -> optax.GradientTransformation:
    """Orthogonalise the momentum of each hidden kernel, layer by layer; all other parameters get Adam.

    Args:
        momentum: decay rate of the first moment, in its Nesterov form.
        iterations: Newton-Schulz iterations.
        rms: root mean square of a full-rank kernel's update at a learning rate of 1. At 0.2, about that of
            Adam, one schedule serves both (Liu et al. 2025, section 2.2, https://arxiv.org/abs/2502.16982).
            None: the original scale, sqrt(max(1, fan_out / fan_in)) times an orthogonal matrix.
        kernels: names and axes of further parameters that are kernels; dict(compress='D -> R') in a config.
        others: the rule for what is no kernel. None: optax's scale_by_adam.

    Raises:
        UserError: axes are not written as in 'N H -> D'; or, on meeting the parameters, none is a kernel.
    """
    axes = kernel_axes(kernels, 'optimizer.rule.kernels')
    matrices = optax.contrib.muon(
        learning_rate=1.0,
        beta=momentum,
        ns_steps=iterations,
        consistent_rms=rms,
        muon_weight_dimension_numbers=lambda params: each_leaf(params, lambda path, leaf: axes_of(axes, path, leaf)),
    )
    rules = {
        # optax's muon descends; the minus sign is the learning rate's to give.
        'kernel': optax.chain(matrices, optax.scale(-1.0)),
        'other': others() if others else optax.scale_by_adam(),
    }
    return optax.partition(rules, lambda params: _muon_labels(axes, params))


def adafactor(
    decay_rate: Positive = 0.8,
    clipping_threshold: Positive | None = 1.0,
    minimum_size: Count = 128,
    parameter_scale: bool = True,
) -> optax.GradientTransformation:
    """Scale by a factored second moment, every layer of a stacked parameter on its own.

    Within a layer the two longest axes are factored and the others kept: of [D N H], often D and H.

    Args:
        decay_rate: the second moment's decay at step t is 1 - t^-decay_rate.
        clipping_threshold: greatest root mean square of a layer's update. None: no clipping.
        minimum_size: both factored axes are at least this long, or nothing is factored.
        parameter_scale: multiply by the root mean square of the layer: the rate is relative to it.
    """
    descent = optax.adafactor(
        decay_rate=decay_rate,
        clipping_threshold=clipping_threshold,
        min_dim_size_to_factor=minimum_size,
        multiply_by_parameter_scale=parameter_scale,
    )
    rule = optax.chain(descent, optax.scale(-1.0))
    return optax.partition(
        {'stacked': _by_layer(rule), 'single': rule}, lambda params: each_leaf(params, _stacked_label)
    )


def _kinds(factors: PyTree) -> PyTree[str]:
    """Say how each leaf is updated, given the factor of its learning rate."""

    def kind(path: str, factor: Any) -> str:
        return 'frozen' if not np.any(factor) else 'statistic' if is_statistic(path) else 'learned'

    kinds = each_leaf(factors, kind)
    if 'learned' not in jax.tree.leaves(kinds):
        raise UserError('optimizer.rates: they freeze every parameter, so there is nothing to learn')
    return kinds


def _multiply(factors: PyTree, kinds: PyTree[str]) -> optax.GradientTransformation:
    """Multiply the updates of what is learned; `optax.partition` masks the rest."""
    learned = jax.tree.map(lambda kind, factor: factor if kind == 'learned' else optax.MaskedNode(), kinds, factors)
    return optax.stateless(
        lambda updates, params: jax.tree.map(
            lambda update, factor: (factor * update).astype(update.dtype), updates, learned
        )
    )


def _matrix_axes(letters: str, field: str) -> KernelAxes:
    inputs, _, outputs = (side.split() for side in letters.partition('->'))
    if not inputs or not outputs:
        raise UserError(f"{field}: write axes as in 'N H -> D', not '{letters}'")
    first = -len(inputs) - len(outputs)
    return KernelAxes(tuple(range(first, -len(outputs))), tuple(range(-len(outputs), 0)))


def _muon_labels(axes: Mapping[str, KernelAxes], params: Params) -> PyTree[str]:
    labels = each_leaf(params, lambda path, leaf: 'kernel' if axes_of(axes, path, leaf) else 'other')
    if 'kernel' not in jax.tree.leaves(labels):
        raise UserError(f'optimizer.rule: muon found no kernel named {", ".join(axes)}; name yours in `kernels`')
    return labels


def _stacked_label(path: str, leaf: Any) -> str:
    return 'stacked' if 'layers' in path.split('/') else 'single'


def _by_layer(rule: optax.GradientTransformation) -> optax.GradientTransformation:
    """Apply a rule to each slice of each leaf along axis 0, as if every slice were a parameter of its own."""

    def init(params):
        return jax.tree.map(jax.vmap(rule.init), params)

    def update(updates, state, params):
        pairs = jax.tree.map(jax.vmap(rule.update), updates, state, params)
        return tuple(jax.tree.map(lambda _, pair, side=side: pair[side], updates, pairs) for side in (0, 1))

    return optax.GradientTransformation(init, update)
