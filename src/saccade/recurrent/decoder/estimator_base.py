# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Gradient estimators of a discrete choice. An estimator part is called with the width of the states, and returns an
`Estimator`."""

from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from saccade.types import PRNGKey

Odds = Float[Array, 'B T S']


@runtime_checkable
class Estimator(Protocol):
    """Gradient estimator: chooses one key per row from its odds.

    Returns one-hot weights, and values per query for the task, by name. A row without odds above zero gets no key.
    """

    def __call__(
        self, odds: Odds, states: Float[Array, 'B T D'], key: PRNGKey
    ) -> tuple[Odds, dict[str, Float[Array, 'B T']]]: ...


def likeliest(odds: Odds) -> Odds:
    """Return the most likely key, one-hot."""
    return one_hot(jnp.argmax(odds, axis=-1), odds)


def noisy(odds: Odds, key: PRNGKey) -> Odds:
    """Return log odds plus Gumbel noise, whose argmax is a sample (Gumbel 1954); -inf where the odds are 0."""
    possible = odds > 0
    logarithm = jnp.where(possible, jnp.log(jnp.where(possible, odds, 1.0)), -jnp.inf)
    return logarithm + jax.random.gumbel(key, odds.shape, odds.dtype)


def one_hot(at: Int[Array, 'B T'], odds: Odds) -> Odds:
    """Return 1 at each row's key, if its odds are above 0, otherwise 0; without a gradient."""
    return jax.lax.stop_gradient(jax.nn.one_hot(at, odds.shape[-1], dtype=odds.dtype) * (odds > 0))


def swapped(forward: Odds, backward: Odds) -> Odds:
    """Return the value of `forward` with the gradient of `backward`."""
    return forward + backward - jax.lax.stop_gradient(backward)
