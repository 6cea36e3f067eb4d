# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Batch normalisation by running statistics of each feature over the tokens, also in training.

    y = scale (x - mean) / sqrt(var + epsilon) + bias                                         mean, var [D]
    after each step  mean = m mean + (1 - m) E[x],  var = m var + (1 - m) E[(x - mean)^2]      E over B and T

Ioffe, Szegedy 2015, "Batch Normalization", algorithm 1, https://arxiv.org/abs/1502.03167. Their training uses the
batch's statistics, which would leak later tokens to earlier ones; this is Batch Renormalization (Ioffe 2017,
https://arxiv.org/abs/1702.03275) without bounds: running statistics in the forward pass, the batch's in the gradient.
So training and evaluation are the same function and decoding is exact; it equals the original norm if the running
statistics equal the batch's. Padding is excluded. Under `accumulate` and `pmap` the gradient's statistics are those of
a microbatch or a device. Cost: T D.
"""

from typing import ClassVar

import flax.linen as nn
import jax.numpy as jnp

from saccade.axes import parameter
from saccade.module import Transform
from saccade.norm.base import affine
from saccade.ops.statistic import centre, follow, rescale
from saccade.types import Hidden, NotNegative, Real, Share

__all__ = ['BatchNorm']


class BatchNorm(Transform):
    """Batch normalisation by running statistics.

    Attributes: momentum m; epsilon, added to the variance; scale and bias, whether to use them.
    """

    momentum: Share = 0.9
    epsilon: NotNegative = 1e-5
    scale: bool = True
    bias: bool = True
    mixes_rows: ClassVar[str] = 'the statistics of its gradient'

    @nn.compact
    def __call__(self, x: Hidden, real: Real | None = None) -> Hidden:
        wide = x.astype(jnp.float32)
        mean = parameter(self, 'running_mean', 'D', nn.initializers.zeros, x.shape[-1:], dtype=jnp.float32)
        variance = parameter(self, 'running_variance', 'D', nn.initializers.ones, x.shape[-1:], dtype=jnp.float32)
        centred = centre(wide, mean, real)
        self.sow('losses', 'moves', follow(mean, wide, self.momentum, real))
        self.sow('losses', 'moves', follow(variance, jnp.square(centred), self.momentum, real))
        y = rescale(centred, variance + self.epsilon, real)
        return affine(self, y).astype(x.dtype)
