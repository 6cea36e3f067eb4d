# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Initialisers of decays and of step sizes: factories of functions (key, shape) -> array, as in `jax.nn.initializers`.

The bounds are from Mamba-2 (Dao, Gu 2024, https://arxiv.org/abs/2405.21060), S4D (Gu et al. 2022,
https://arxiv.org/abs/2206.11893) and the authors' code of RWKV-7.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

__all__ = ['decay_bias', 'log_rate', 'log_step', 'step_bias']


def decay_bias(least: float = -5.5, most: float = 0.5) -> Callable[..., Array]:
    """Initialise the decay bias of RWKV-7 linearly over the features, from the slowest to the fastest decay."""

    def make(key: Any, shape: tuple[int, ...]) -> Array:
        return jnp.linspace(least, most, shape[0] * shape[1]).reshape(shape)

    return make


def log_rate(least: float = 1.0, most: float = 16.0) -> Callable[..., Array]:
    """Initialise log r, with r the rate of a decay exp(-r s): r is uniform between the bounds."""
    return lambda key, shape: jnp.log(jax.random.uniform(key, shape, minval=least, maxval=most))


def log_step(least: float = 0.001, most: float = 0.1) -> Callable[..., Array]:
    """Initialise log s, with s a step size: s is log-uniform between the bounds."""
    return lambda key, shape: jax.random.uniform(key, shape, minval=jnp.log(least), maxval=jnp.log(most))


def step_bias(least: float = 0.001, most: float = 0.1) -> Callable[..., Array]:
    """Initialise c, the bias of a step size s = softplus(x W + c): softplus(c) is log-uniform between the bounds."""

    def make(key: Any, shape: tuple[int, ...]) -> Array:
        steps = jnp.exp(jax.random.uniform(key, shape, minval=jnp.log(least), maxval=jnp.log(most)))
        return steps + jnp.log(-jnp.expm1(-steps))

    return make
