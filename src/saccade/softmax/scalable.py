# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Scalable softmax (SSMax): scores are scaled by the logarithm of the number of keys, so long rows stay peaked.

    p[n, i, j] = exp(c s[n, i, j]) / sum_k exp(c s[n, i, k]),    c = a[n] log(keys of query i)

Nakanishi 2025, "Scalable-Softmax Is Superior for Attention", section 2, https://arxiv.org/abs/2501.19399
a is trained, one per head. Here it is initialised to 1 / log(length), which is softmax for rows of `length` keys. Only
keys that the mask allows are counted, also in packed rows, windows and decoding steps. Cost: that of softmax, N
parameters. It has no blockwise path.
"""

import math
from typing import Annotated, Any, ClassVar

import flax.linen as nn
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Bool, Float

from saccade.axes import parameter
from saccade.module import Module
from saccade.ops.softmax import masked_softmax
from saccade.types import Range, Rows, Scores

__all__ = ['Scalable']


@struct.dataclass
class ScalableWeights:
    """Scalable softmax of whole rows.

    Attributes: sharpness, a, one per head.
    """

    sharpness: Float[Array, ' N']

    def __call__(self, scores: Scores, allowed: Bool[Array, '#B #N T S']) -> Scores:
        keys = jnp.maximum(jnp.sum(allowed, axis=-1, keepdims=True), 1)
        return masked_softmax(self.sharpness[:, None, None] * jnp.log(keys) * scores, allowed)


class Scalable(Module):
    """Scalable softmax.

    Also called: SSMax, scalable softmax.

    Attributes: length, the keys of a row that training starts with softmax for.
    """

    length: Annotated[int, Range(least=2)]

    rows: ClassVar[Rows] = Rows()
    why_not: ClassVar[dict[str, str]] = {
        'OnlineSoftmaxVariant': 'the number of keys of a row is known only after its last block'
    }
    example: ClassVar[dict[str, Any]] = dict(length=4)

    @nn.compact
    def __call__(self, heads: int) -> ScalableWeights:
        start = nn.initializers.constant(1.0 / math.log(self.length))
        return ScalableWeights(parameter(self, 'sharpness', 'N', start, (heads,), dtype=jnp.float32))
