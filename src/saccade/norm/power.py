# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Power normalisation (PowerNorm): by a running mean square of each feature over the tokens, without centring.

    y = scale x / sqrt(s + epsilon) + bias;    after each step  s = m s + (1 - m) mean(x^2) over B and T      s [D]

Shen, Yao, Gholami, Mahoney, Keutzer 2020, "PowerNorm: Rethinking Batch Normalization in Transformers", section 4,
https://arxiv.org/abs/2003.07845. Training and evaluation are the same function: tokens are independent, decoding is
exact. The component of the gradient along y is removed using the current batch (as in PN-V); the paper also averages
it over steps. There is no warm-up: s is initialised to 1, which decays in about 1 / (1 - m) steps. Padding is excluded.
Under `accumulate` and `pmap` the gradient's mean is that of a microbatch or a device. Cost: T D.
"""

from typing import ClassVar

import flax.linen as nn
import jax.numpy as jnp

from saccade.axes import parameter
from saccade.module import Transform
from saccade.norm.base import affine
from saccade.ops.statistic import follow, rescale
from saccade.types import Hidden, NotNegative, Real, Share

__all__ = ['PowerNorm']


class PowerNorm(Transform):
    """Power normalisation by a running mean square.

    Attributes: momentum m; epsilon, added to s; scale and bias, whether to use them.
    """

    momentum: Share = 0.9
    epsilon: NotNegative = 1e-5
    scale: bool = True
    bias: bool = True
    mixes_rows: ClassVar[str] = 'the statistics of its gradient'

    @nn.compact
    def __call__(self, x: Hidden, real: Real | None = None) -> Hidden:
        wide = x.astype(jnp.float32)
        square = parameter(self, 'running_square', 'D', nn.initializers.ones, x.shape[-1:], dtype=jnp.float32)
        self.sow('losses', 'moves', follow(square, jnp.square(wide), self.momentum, real))
        y = rescale(wide, square + self.epsilon, real)
        return affine(self, y).astype(x.dtype)
