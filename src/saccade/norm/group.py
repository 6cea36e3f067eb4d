# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Group normalisation per token: layer normalisation within groups of features.

    y = scale (x - mean_g(x)) / sqrt(var_g(x) + epsilon) + bias        over the D/groups features of group g

Wu, He 2018, "Group Normalization", equations 1, 2 and 7, https://arxiv.org/abs/1803.08494
Statistics are over features only, not over positions as in the paper, so tokens are independent. With one group it is
layer normalisation. Statistics are in float32. Cost: T D.
"""

from typing import ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp
from einops import rearrange

from saccade.module import Transform
from saccade.norm.base import affine
from saccade.types import Count, Hidden, NotNegative, Real, UserError

__all__ = ['GroupNorm']


class GroupNorm(Transform):
    """Group normalisation per token.

    Attributes: groups of features; epsilon, added to the variance; scale and bias, whether to use them.
    """

    groups: Count
    epsilon: NotNegative = 1e-5
    scale: bool = True
    bias: bool = True
    example: ClassVar[dict] = {'groups': 4}

    @nn.compact
    def __call__(self, x: Hidden, real: Real | None = None) -> Hidden:
        if x.shape[-1] % self.groups or x.shape[-1] == self.groups:
            raise UserError(
                f'width {x.shape[-1]} cannot be cut into {self.groups} groups: '
                f'choose a divisor that leaves 2 features or more to each'
            )
        wide = rearrange(x.astype(jnp.float32), 'B T (g d) -> B T g d', g=self.groups)
        centred = wide - jnp.mean(wide, axis=-1, keepdims=True)
        variance = jnp.mean(jnp.square(centred), axis=-1, keepdims=True)
        y = rearrange(centred * jax.lax.rsqrt(variance + self.epsilon), 'B T g d -> B T (g d)')
        return affine(self, y).astype(x.dtype)
