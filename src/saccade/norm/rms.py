# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Root-mean-square normalisation (RMSNorm).

    y = scale x / sqrt(mean(x^2) + epsilon)        over D, for each token

Zhang, Sennrich 2019, "Root Mean Square Layer Normalization", equation 4, https://arxiv.org/abs/1910.07467
It equals layer normalisation without bias if the mean of x is zero. Statistics are in float32. Cost: T D.
"""

import flax.linen as nn
import jax
import jax.numpy as jnp

from saccade.axes import parameter
from saccade.module import Transform
from saccade.types import Hidden, NotNegative, Real

__all__ = ['RMSNorm']


class RMSNorm(Transform):
    """Root-mean-square normalisation.

    Attributes:
        epsilon: added to the mean square.
        scale: whether to use a trained factor.
        zero_centred: the factor is 1 plus the parameter, which starts at 0 (Gemma, Qwen3-Next).
    """

    epsilon: NotNegative = 1e-6
    scale: bool = True
    zero_centred: bool = False

    @nn.compact
    def __call__(self, x: Hidden, real: Real | None = None) -> Hidden:
        wide = x.astype(jnp.float32)
        y = wide * jax.lax.rsqrt(jnp.mean(jnp.square(wide), axis=-1, keepdims=True) + self.epsilon)
        if self.scale:
            start = nn.initializers.zeros if self.zero_centred else nn.initializers.ones
            factor = parameter(self, 'scale', 'D', start, x.shape[-1:], dtype=jnp.float32)
            y = y * (1 + factor if self.zero_centred else factor)
        return y.astype(x.dtype)
