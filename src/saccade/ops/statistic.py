# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Running statistics: parameters that follow the data and are not trained by an optimizer.

A part stores one under a name matched by `STATISTIC`, and reports a loss that is always 0 (`move`, `follow`), whose
gradient is old - new. The optimizer subtracts exactly this, without clipping, rule, decay or learning rate. The
loss is weighted by tokens, so updates of microbatches and devices are averaged by their tokens.

A norm that divides by a running statistic of its own input must not let the gradient grow a component that the
statistic then removes (Ioffe & Szegedy 2015, section 2, https://arxiv.org/abs/1502.03167). `centre` and `rescale`
therefore use the running statistic in the forward pass and are differentiated as if it were the batch's.
"""

import re

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from saccade.ops.padding import of_tokens, token_mean
from saccade.types import Hidden, Real, Total

STATISTIC = re.compile(r'(^|/)(balance_bias|running_[a-z_]+)$')
RECORD = re.compile(r'(^|/)running_largest_[a-z_]+$')

Features = Float[Array, 'D']

_TINY = 1e-30  # divisor for features that are always zero


def is_statistic(path: str) -> bool:
    """Return True if the parameter at this path, such as 'norm/running_mean', is a running statistic."""
    return STATISTIC.search(path) is not None


def is_record(path: str) -> bool:
    """Return True if the parameter at this path is a statistic that each step replaces and only training reads.

    Weights of elsewhere may lack it, and an export leaves it out.
    """
    return RECORD.search(path) is not None


def move(old: Float[Array, '*axes'], new: Float[Array, '*axes']) -> Float[Array, '']:
    """Return zero, with the gradient old - new with respect to a statistic."""
    return ((old - jax.lax.stop_gradient(old)) * jax.lax.stop_gradient(old - new)).sum()


def follow(running: Features, x: Hidden, momentum: float, real: Real | None = None) -> Total:
    """Update a running mean: momentum * running + (1 - momentum) * mean of x over the tokens of the batch."""
    real = jnp.ones(x.shape[:-1], bool) if real is None else real
    return of_tokens(move(running, momentum * running + (1.0 - momentum) * token_mean(x, real)), real)


@jax.custom_vjp
def centre(x: Hidden, mean: Features, real: Real | None = None) -> Hidden:
    """Subtract a running mean."""
    return x - mean


def _centre_forward(x: Hidden, mean: Features, real: Real | None) -> tuple[Hidden, tuple[Features, Real | None]]:
    return x - mean, (mean, real)


def _centre_backward(saved: tuple[Features, Real | None], dy: Hidden) -> tuple[Hidden, Features, None]:
    mean, real = saved
    return dy - _at_tokens(_mean(dy, real), real), jnp.zeros_like(mean), None


centre.defvjp(_centre_forward, _centre_backward)


@jax.custom_vjp
def rescale(x: Hidden, square: Features, real: Real | None = None) -> Hidden:
    """Divide by the root of a running mean square."""
    return x * jax.lax.rsqrt(square)


def _rescale_forward(
    x: Hidden, square: Features, real: Real | None
) -> tuple[Hidden, tuple[Hidden, Features, Real | None]]:
    y = rescale(x, square, real)
    return y, (y, square, real)


def _rescale_backward(saved: tuple[Hidden, Features, Real | None], dy: Hidden) -> tuple[Hidden, Features, None]:
    y, square, real = saved
    along = _mean(dy * y, real) / jnp.maximum(_mean(jnp.square(y), real), _TINY)
    return (dy - _at_tokens(along * y, real)) * jax.lax.rsqrt(square), jnp.zeros_like(square), None


rescale.defvjp(_rescale_forward, _rescale_backward)


def _mean(x: Hidden, real: Real | None) -> Features:
    """Return the mean over the tokens of a batch, without padding."""
    return jnp.mean(x, axis=(-3, -2)) if real is None else token_mean(x, real)


def _at_tokens(x: Float[Array, '*#BT D'], real: Real | None) -> Float[Array, '*#BT D']:
    """Return x at tokens; padding, which is in no mean, gets no gradient."""
    return x if real is None else jnp.where(real[..., None], x, 0.0)
