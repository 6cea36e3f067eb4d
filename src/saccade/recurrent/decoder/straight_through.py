# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Straight-through estimator: a sampled one-hot choice, whose gradient is passed to the odds unchanged.

    forward j ~ alpha, one-hot;    backward d one-hot / d alpha = 1

Bengio, Leonard, Courville 2013, "Estimating or Propagating Gradients Through Stochastic Neurons for Conditional
Computation", section 4, https://arxiv.org/abs/1308.3432. Biased, with low variance. Cost: none.
"""

import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Float

from saccade.module import Module
from saccade.recurrent.decoder.estimator_base import Estimator, Odds, noisy, one_hot, swapped
from saccade.types import PRNGKey

__all__ = ['StraightThrough']


@struct.dataclass
class Straight:
    """Straight-through estimator: a sampled one-hot choice, with the gradient of the odds."""

    def __call__(self, odds: Odds, states: Float[Array, 'B T D'], key: PRNGKey) -> tuple[Odds, dict]:
        drawn = one_hot(jnp.argmax(noisy(odds, key), axis=-1), odds)
        return swapped(drawn, odds), {}


class StraightThrough(Module):
    """Straight-through estimator of the gradient of a sampled choice. It has no parameters."""

    def __call__(self, width: int) -> Estimator:
        return Straight()
