# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Scale normalisation (ScaleNorm): every token is scaled to one trained norm.

    y = g x / max(||x||, epsilon)        ||x|| over D, for each token

Nguyen, Salazar 2019, "Transformers without Tears: Improving the Normalization of Self-Attention", section 2,
https://arxiv.org/abs/1910.05895. g is initialised to sqrt(D), which equals RMSNorm without scale. With `start` 1 and
`trained` False it is the unit norm, x / ||x||. The norm is computed in float32. Cost: T D.
"""

import flax.linen as nn
import jax
import jax.numpy as jnp

from saccade.axes import parameter
from saccade.module import Transform
from saccade.types import Hidden, NotNegative, Real

__all__ = ['ScaleNorm']


class ScaleNorm(Transform):
    """Scale normalisation.

    Attributes: start, the initial g, None for sqrt(D); trained, whether g is trained; epsilon, the minimum of ||x||.
    """

    start: float | None = None
    trained: bool = True
    epsilon: NotNegative = 1e-5

    @nn.compact
    def __call__(self, x: Hidden, real: Real | None = None) -> Hidden:
        g = x.shape[-1] ** 0.5 if self.start is None else self.start
        if self.trained:
            g = parameter(self, 'scale', '', nn.initializers.constant(g), (), dtype=jnp.float32)
        wide = x.astype(jnp.float32)
        # The bound is on the square: its root has no gradient at 0.
        square = jnp.maximum(jnp.sum(jnp.square(wide), axis=-1, keepdims=True), self.epsilon**2)
        return (g * wide * jax.lax.rsqrt(square)).astype(x.dtype)
