# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Activations that `jax.nn` has not. Every function of it is one too, by its import path: `jax.nn:gelu`."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def squared_relu(x: Float[Array, '*shape']) -> Float[Array, '*shape']:
    """max(x, 0)^2: So et al. 2021, "Primer", section 4.2, https://arxiv.org/abs/2109.08668"""
    return jnp.square(jax.nn.relu(x))
