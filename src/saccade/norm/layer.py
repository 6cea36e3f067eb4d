# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Layer normalisation (LayerNorm).

    y = scale (x - mean(x)) / sqrt(var(x) + epsilon) + bias        over D, for each token

Ba, Kiros, Hinton 2016, "Layer Normalization", equations 3 and 4, https://arxiv.org/abs/1607.06450
Scale and bias are each optional. Statistics are in float32 for any dtype of x. Cost: T D.
"""

import flax.linen as nn
import jax
import jax.numpy as jnp

from saccade.module import Transform
from saccade.norm.base import affine
from saccade.types import Hidden, NotNegative, Real

__all__ = ['LayerNorm']


class LayerNorm(Transform):
    """Layer normalisation.

    Attributes: epsilon, added to the variance; scale, whether to use a trained factor; bias, whether to use a trained
    bias.
    """

    epsilon: NotNegative = 1e-5
    scale: bool = True
    bias: bool = True

    @nn.compact
    def __call__(self, x: Hidden, real: Real | None = None) -> Hidden:
        wide = x.astype(jnp.float32)
        centred = wide - jnp.mean(wide, axis=-1, keepdims=True)
        variance = jnp.mean(jnp.square(centred), axis=-1, keepdims=True)
        y = centred * jax.lax.rsqrt(variance + self.epsilon)
        return affine(self, y).astype(x.dtype)
