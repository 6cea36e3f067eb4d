# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Local attention, monotonic (local-m): the t-th decoder state attends to a window around source token t.

    p_t = t;    alpha_t = softmax over j in [t - R, t + R] of score(s_t, h_j)

Luong et al. 2015, "Effective Approaches to Attention-based Neural Machine Translation", section 3.1,
https://arxiv.org/abs/1508.04025. Past the end of the source p_t is the last token. Cost: T (2 R + 1) (A + C),
independent of S.
"""

import flax.linen as nn
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Float, Int

from saccade.module import Module
from saccade.recurrent.decoder.attention_base import ScoreFunction
from saccade.recurrent.decoder.local_base import LocalAttender
from saccade.softmax.softmax import Softmax
from saccade.types import Count, LayerContext, Part, RowSoftmax, SoftmaxVariant

__all__ = ['LocalMonotonic']


@struct.dataclass
class LocalMonotonicAttender(LocalAttender):
    """Local monotonic attention (local-m), with its weights.

    Attributes: score_function; softmax; reach, R.
    """

    score_function: ScoreFunction
    softmax: RowSoftmax
    reach: int = struct.field(pytree_node=False)

    def centre(
        self, states: Float[Array, 'B T D'], layer_context: LayerContext, lengths: Int[Array, 'B']
    ) -> Float[Array, 'B T']:
        """Return p_t = t, clipped to the last source token."""
        return jnp.minimum(layer_context.positions, lengths[:, None] - 1).astype(jnp.float32)


class LocalMonotonic(Module):
    """Local monotonic attention (local-m).

    Attributes: score function of decoder and source states; reach, R in tokens on either side; softmax variant.
    """

    score: Part
    reach: Count
    softmax: Part[SoftmaxVariant] = Part(Softmax)

    @nn.compact
    def __call__(self, query_width: int, key_width: int) -> LocalMonotonicAttender:
        score_function = self.score(name='score')(query_width, key_width)
        return LocalMonotonicAttender(score_function, self.softmax(name='softmax')(1), self.reach)
