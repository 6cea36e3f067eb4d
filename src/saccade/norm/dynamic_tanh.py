# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Dynamic tanh (DyT): an elementwise tanh instead of a norm, without statistics.

    y = scale tanh(a x) + bias        a scalar, scale and bias [D]

Zhu, Chen, He, LeCun, Liu 2025, "Transformers without Normalization", section 4 (DyT),
https://arxiv.org/abs/2503.10622. a is initialised to `alpha`: 0.5 in the paper, and less for large language models,
decreasing with their width. It bounds y, but y is not invariant to the scale of x. Cost: T D.
"""

import flax.linen as nn
import jax.numpy as jnp

from saccade.axes import parameter
from saccade.module import Transform
from saccade.norm.base import affine
from saccade.types import Hidden, Positive, Real

__all__ = ['DynamicTanh']


class DynamicTanh(Transform):
    """Dynamic tanh (DyT).

    Attributes: alpha, the initial a; scale and bias, whether to use them.
    """

    alpha: Positive = 0.5
    scale: bool = True
    bias: bool = True

    @nn.compact
    def __call__(self, x: Hidden, real: Real | None = None) -> Hidden:
        a = parameter(self, 'input_scale', '', nn.initializers.constant(self.alpha), (), dtype=jnp.float32)
        y = jnp.tanh(a * x.astype(jnp.float32))
        return affine(self, y).astype(x.dtype)
