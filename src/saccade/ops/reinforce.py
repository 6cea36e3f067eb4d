# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""REINFORCE surrogate loss, whose gradient with respect to the choices is an estimate of the expected loss's gradient.

    surrogate = sum over t of (G_t - b_t) log p(choice_t) + (G_t - b_t)^2 / 2,    G_t = sum over u >= t of loss_u

without a gradient through G, and through b only in the second term. A choice affects only later losses.
Williams 1992, https://doi.org/10.1007/BF00992696
"""

from collections.abc import Mapping

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

Choices = Mapping[str, Float[Array, 'B T']]


def choices_in(reported: PyTree) -> list[Choices]:
    """Return the choices that the parts of a model reported in the collection 'choices'."""

    def whole(tree: PyTree) -> bool:
        return isinstance(tree, Mapping) and 'log_probability' in tree

    return jax.tree.leaves(reported, is_leaf=whole)


def surrogate(losses: Float[Array, 'B T'], weights: Float[Array, 'B T'], choices: Choices) -> Float[Array, '']:
    """Return the surrogate, summed over tokens, to be added to the sum of the losses.

    Args:
        losses: loss of each token, in nats.
        weights: 1 for target tokens, else 0.
        choices: `log_probability` of each token's choice, and `baseline`, the expected sum of later losses.
    """
    counted = jax.lax.stop_gradient(losses * weights)
    to_come = jnp.cumsum(counted[:, ::-1], axis=1)[:, ::-1]
    surplus = to_come - choices['baseline']
    by_choice = jax.lax.stop_gradient(surplus) * choices['log_probability']
    return jnp.sum(weights * (by_choice + 0.5 * jnp.square(surplus)))
