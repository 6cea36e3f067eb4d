# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Talking-heads attention: scores are mixed over the heads before the softmax, and weights after it.

    p[m] = sum_n softmax(sum_l s[l] P[l, n]) Q[n, m]

Shazeer et al. 2020, "Talking-Heads Attention", https://arxiv.org/abs/2003.02436
The number of heads is the same at the three places; in the paper it can differ. Weights can be negative, and rows can
have any sum. Cost: that of softmax plus 2 N^2 T S multiplications. It has no blockwise path.
"""

import math
from typing import ClassVar

import flax.linen as nn
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Bool, Float

from saccade.axes import parameter
from saccade.module import Module
from saccade.ops.softmax import masked_softmax
from saccade.types import Part, Rows, Scores

__all__ = ['TalkingHeads']


@struct.dataclass
class TalkingHeadsWeights:
    """Softmax between two linear maps over the heads.

    Attributes: matrices that mix the scores and the weights, from input to output heads.
    """

    before: Float[Array, 'N N']
    after: Float[Array, 'N N']

    def __call__(self, scores: Scores, allowed: Bool[Array, '#B #N T S']) -> Scores:
        weights = masked_softmax(jnp.einsum('BNTS,NM->BMTS', scores, self.before), allowed)
        return jnp.einsum('BNTS,NM->BMTS', weights, self.after)


class TalkingHeads(Module):
    """Talking-heads attention weights.

    Attributes: mix_init, the initialiser of both matrices.
    """

    mix_init: Part = Part(nn.initializers.lecun_normal)

    rows: ClassVar[Rows] = Rows(least=-math.inf, most=math.inf)
    why_not: ClassVar[dict[str, str]] = {
        'OnlineSoftmaxVariant': 'heads have normalisers of their own, and a mix of them would keep N x N outputs a row'
    }

    @nn.compact
    def __call__(self, heads: int) -> TalkingHeadsWeights:
        shape = (heads, heads)
        before, after = (
            parameter(self, name, 'N N', self.mix_init(), shape, dtype=jnp.float32) for name in ('before', 'after')
        )
        return TalkingHeadsWeights(before, after)
