# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Activation functions that `jax.nn` lacks, or has in a more expensive form.

A config may also name functions of `jax.nn` by import path: `jax.nn:silu`.
"""

import math

import jax
import jax.numpy as jnp
from jax.scipy.special import erf
from jaxtyping import Array, Float

__all__ = ['gelu', 'quick_gelu', 'squared_relu']


@jax.custom_vjp
def gelu(x: Float[Array, '*shape'], /) -> Float[Array, '*shape']:
    """x Phi(x), with Phi the normal distribution function: Hendrycks and Gimpel 2016, section 2, exact.

    https://arxiv.org/abs/1606.08415

    Phi is computed from erf in float32, as PyTorch does, to 1e-6. `jax.nn.gelu(approximate=False)` computes it from
    erfc, with more digits below -3, where the value is almost 0. Its backward pass stores another array of this shape
    in addition to x; ours recomputes Phi.
    """
    return (_at_least_float32(x) * _normal_cdf(x)).astype(x.dtype)


def _gelu_backward(x: Array, dy: Array) -> tuple[Array]:
    z = _at_least_float32(x)
    density = jnp.exp(-jnp.square(z) / 2) / math.sqrt(2 * math.pi)
    return ((dy * (_normal_cdf(x) + z * density)).astype(x.dtype),)


def _normal_cdf(x: Array) -> Array:
    return (1 + erf(_at_least_float32(x) / math.sqrt(2))) / 2


def _at_least_float32(x: Array) -> Array:
    return x.astype(jnp.promote_types(x.dtype, jnp.float32))


gelu.defvjp(lambda x: (gelu(x), x), _gelu_backward)


def squared_relu(x: Float[Array, '*shape'], /) -> Float[Array, '*shape']:
    """max(x, 0)^2: So et al. 2021, "Primer", section 4.2, https://arxiv.org/abs/2109.08668"""
    return jnp.square(jax.nn.relu(x))


def quick_gelu(x: Float[Array, '*shape'], /) -> Float[Array, '*shape']:
    """x sigmoid(1.702 x): Hendrycks and Gimpel 2016, section 2, https://arxiv.org/abs/1606.08415; CLIP has it."""
    return x * jax.nn.sigmoid(1.702 * x)
