# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Activation functions that `jax.nn` lacks. A config names those of `jax.nn` by import path too: `jax.nn:gelu`."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def squared_relu(x: Float[Array, '*shape']) -> Float[Array, '*shape']:
    """max(x, 0)^2: So et al. 2021, "Primer", section 4.2, https://arxiv.org/abs/2109.08668"""
    return jnp.square(jax.nn.relu(x))


def quick_gelu(x: Float[Array, '*shape']) -> Float[Array, '*shape']:
    """x sigmoid(1.702 x): Hendrycks and Gimpel 2016, section 2, https://arxiv.org/abs/1606.08415; CLIP has it."""
    return x * jax.nn.sigmoid(1.702 * x)
