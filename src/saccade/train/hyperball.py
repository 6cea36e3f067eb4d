# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Hyperball: every hidden matrix keeps the norm that it starts with, and its update has a fixed length.

    R = |W_0|,    W_(t+1) = R normalize(W_t - rate length R normalize(u_t))

u is the update of a rule, as of Adam (AdamH) or Muon (MuonH), and |.| the Frobenius norm.

    --config.optimizer.rule="{'use': 'train.hyperball:hyperball', 'rule': {'use': 'optax:scale_by_adam'}}"

Wen, Dang, Lyu, Ma, Liang 2026, "Fantastic Pretraining Optimizers and Where to Find Them II: Hyperball Optimization",
https://arxiv.org/abs/2606.16899. It replaces weight decay, which moves a matrix along itself and thus changes nothing
but the length of the update.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PyTree

from saccade.axes import AxesByPath, KernelAxes, copies_in
from saccade.train.optimizer import RuleByAxes, each_leaf, made_rule
from saccade.types import Params, Part, Positive, Scales, UserError

__all__ = ['hyperball']

LIKE_ADAM = 0.2  # root mean square of the update of a matrix without a norm, as of Muon's


def hyperball(rule: Part, length: Scales[Positive] = 10.0) -> RuleByAxes:
    """Keep the norm of each hidden kernel, a matrix per layer and expert; all other parameters use the rule as it is.

    `KernelAxes.is_hidden` tells them apart, as for Muon. A matrix that starts at zero has no norm to keep: its update
    has a root mean square of 0.2 at a learning rate of 1.

    Args:
        rule: as that of the optimizer.
        length: of the update at a learning rate of 1, divided by the norm of the matrix. The authors take
            sqrt(rate * decay) of AdamW as the rate, so that 10 goes with its schedule for a rate of 1e-3 and a decay
            of 0.1.

    Raises:
        UserError: when called with parameters without a hidden kernel.
    """

    def of(axes: AxesByPath) -> optax.GradientTransformation:
        unit = optax.stateless(lambda updates, params: _each(axes, updates, lambda u, norm: u / _not_zero(norm)))
        return optax.chain(made_rule(rule, axes, 'optimizer.rule.rule')[0], unit)

    return RuleByAxes(of, lambda axes: _on_the_ball(axes, length))


def _on_the_ball(axes: AxesByPath, length: Any) -> optax.GradientTransformation:
    """Scale updates of length 1 by the radii, and move the parameters that they lead to onto their balls."""

    def init(params: Params) -> PyTree:
        radii = each_leaf(params, lambda path, leaf: _norms(axes.get(path), leaf))
        if not jax.tree.leaves(radii):
            raise UserError(
                'optimizer.rule: hyperball finds no hidden kernel among the parameters that are trained: '
                "none declares axes as 'D -> F'; a part declares them by saccade.axes:parameter"
            )
        return radii

    def update(updates: PyTree, radii: PyTree, params: Params, **others: Any) -> tuple[PyTree, PyTree]:
        def on_the_ball(path: str, update: Array, leaf: Array, radius: Array) -> Array:
            if _is_masked(radius):
                return update
            free = LIKE_ADAM * (leaf.size / radius.size) ** 0.5
            moved = leaf + update * jnp.where(radius > 0, length * radius, free)
            norm = _not_zero(_norms(axes[path], moved))
            return (moved * jnp.where(radius > 0, radius / norm, 1.0) - leaf).astype(update.dtype)

        paths = each_leaf(updates, lambda path, leaf: path)
        return jax.tree.map(on_the_ball, paths, updates, params, radii), radii

    return optax.GradientTransformationExtraArgs(init, update)


def _each(axes: AxesByPath, tree: PyTree, function: Callable[[Array, Array], Array]) -> PyTree:
    """Map a function of leaf and norms over the hidden kernels; other leaves are returned as they are."""

    def of_leaf(path: str, leaf: Array) -> Array:
        norms = _norms(axes.get(path), leaf)
        return leaf if _is_masked(norms) else function(leaf, norms).astype(leaf.dtype)

    return each_leaf(tree, of_leaf)


def _norms(axes: str | None, leaf: Float[Array, '...']) -> Float[Array, '...'] | optax.MaskedNode:
    """Return the norm of each matrix in a hidden kernel, with axes of length 1 in place of the matrix."""
    kernel = KernelAxes.of(axes)
    if kernel is None or not kernel.is_hidden:
        return optax.MaskedNode()
    matrix = tuple(range(copies_in(axes), leaf.ndim))
    return jnp.linalg.norm(leaf.astype(jnp.float32).reshape(*leaf.shape[: matrix[0]], -1), axis=-1).reshape(
        *leaf.shape[: matrix[0]], *(1 for _ in matrix)
    )


def _not_zero(norm: Float[Array, '...']) -> Float[Array, '...']:
    return jnp.where(norm > 0, norm, 1.0)


def _is_masked(leaf: Any) -> bool:
    return isinstance(leaf, optax.MaskedNode)
