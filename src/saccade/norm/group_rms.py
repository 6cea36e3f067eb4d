# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Root-mean-square normalisation within groups of features, as in Mamba-2 with several groups of heads.

    y = scale x / sqrt(mean_g(x^2) + epsilon)        over the D/groups features of group g, for each token

Dao, Gu 2024, "Transformers are SSMs: Generalized Models and Efficient Algorithms Through Structured State Space
Duality", section 8.1, https://arxiv.org/abs/2405.21060: groups avoid a sum over devices in tensor parallelism.
With one group it is RMSNorm. Statistics are in float32. Cost: T D.
"""

from typing import ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp
from einops import rearrange

from saccade.axes import parameter
from saccade.module import Transform
from saccade.types import Count, Hidden, NotNegative, Real, UserError

__all__ = ['GroupRMSNorm']


class GroupRMSNorm(Transform):
    """Root-mean-square normalisation within groups.

    Attributes: groups of features; epsilon, added to the mean square; scale, whether to use it.
    """

    groups: Count
    epsilon: NotNegative = 1e-6
    scale: bool = True
    example: ClassVar[dict] = {'groups': 4}

    @nn.compact
    def __call__(self, x: Hidden, real: Real | None = None) -> Hidden:
        if x.shape[-1] % self.groups:
            raise UserError(
                f'norm.group_rms:GroupRMSNorm: width {x.shape[-1]} cannot be cut into {self.groups} groups; '
                f'choose a divisor'
            )
        wide = rearrange(x.astype(jnp.float32), 'B T (g d) -> B T g d', g=self.groups)
        normed = wide * jax.lax.rsqrt(jnp.mean(jnp.square(wide), axis=-1, keepdims=True) + self.epsilon)
        y = rearrange(normed, 'B T g d -> B T (g d)')
        if self.scale:
            y = y * parameter(self, 'scale', 'D', nn.initializers.ones, x.shape[-1:], dtype=jnp.float32)
        return y.astype(x.dtype)
