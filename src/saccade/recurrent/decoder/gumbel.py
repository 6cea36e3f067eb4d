# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Straight-through Gumbel-softmax: argmax of noisy log odds, with the gradient of their softmax.

    g ~ Gumbel;    forward one-hot argmax (log alpha + g);    backward d softmax((log alpha + g) / tau)

Jang, Gu, Poole 2017, "Categorical Reparameterization with Gumbel-Softmax", section 2.2, https://arxiv.org/abs/1611.01144
Lower tau gives less bias and more variance. Cost: a softmax.
"""

import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Float

from saccade.module import Module
from saccade.ops.softmax import masked_softmax
from saccade.recurrent.decoder.estimator_base import Estimator, Odds, noisy, one_hot, swapped
from saccade.types import Positive, PRNGKey

__all__ = ['Gumbel']


@struct.dataclass
class Relaxed:
    """Straight-through Gumbel-softmax estimator.

    Attributes: temperature, tau.
    """

    temperature: float = struct.field(pytree_node=False)

    def __call__(self, odds: Odds, states: Float[Array, 'B T D'], key: PRNGKey) -> tuple[Odds, dict]:
        scores = noisy(odds, key)
        soft = masked_softmax(scores / self.temperature, odds > 0)
        return swapped(one_hot(jnp.argmax(scores, axis=-1), odds), soft), {}


class Gumbel(Module):
    """Config of the straight-through Gumbel-softmax estimator.

    Attributes: temperature, tau.
    """

    temperature: Positive = 1.0

    def __call__(self, width: int) -> Estimator:
        return Relaxed(self.temperature)
