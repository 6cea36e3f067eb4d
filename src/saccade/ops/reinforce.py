# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""REINFORCE surrogate: a number whose gradient, by the parameters of the choices, is that of the expected loss.

    surrogate = sum over t of (G_t - b_t) log p(choice_t) + (G_t - b_t)^2 / 2,    G_t = sum over u >= t of loss_u

with no gradient by G, and by b in the second term alone. A choice changes the losses that follow, and none before it.
Williams 1992, https://doi.org/10.1007/BF00992696
"""

from collections.abc import Mapping

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

Choices = Mapping[str, Float[Array, 'B T']]


def choices_in(reported: PyTree) -> list[Choices]:
    """Return the reports that the parts of a model made of their choices, in the collection 'choices'."""

    def whole(tree: PyTree) -> bool:
        return isinstance(tree, Mapping) and 'log_probability' in tree

    return jax.tree.leaves(reported, is_leaf=whole)


def surrogate(losses: Float[Array, 'B T'], weights: Float[Array, 'B T'], choices: Choices) -> Float[Array, '']:
    """Return the surrogate, summed over tokens, which is added to the sum of the losses.

    Args:
        losses: of each token, in nats.
        weights: 1 where a token is a target, else 0.
        choices: `log_probability` of the choice made at each token, and `baseline`, the losses to come as expected.
    """
    counted = jax.lax.stop_gradient(losses * weights)
    to_come = jnp.cumsum(counted[:, ::-1], axis=1)[:, ::-1]
    surplus = to_come - choices['baseline']
    by_choice = jax.lax.stop_gradient(surplus) * choices['log_probability']
    return jnp.sum(weights * (by_choice + 0.5 * jnp.square(surplus)))
