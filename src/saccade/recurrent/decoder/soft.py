# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Soft attention: the context is the mean of the source's hidden states, weighted by a softmax of their scores.

    e_ij = score(s_i, h_j),    alpha_i = softmax(e_i),    c_i = sum_j alpha_ij h_j

Bahdanau et al. 2015, "Neural Machine Translation by Jointly Learning to Align and Translate", equations 5 and 6,
https://arxiv.org/abs/1409.0473; the name is from Xu et al. 2015, https://arxiv.org/abs/1502.03044. Any softmax variant
can be used. The score function projects the source once. Cost: T S (A + C), plus that of the score function.
"""

import flax.linen as nn
from flax import struct
from jaxtyping import Array, Float

from saccade.module import Module
from saccade.recurrent.decoder.attention_base import AttenderBase, AttentionOutput, EncodedSource, ScoreFunction
from saccade.softmax.softmax import Softmax
from saccade.types import LayerContext, Part, PRNGKey, RowSoftmax, SoftmaxVariant

__all__ = ['Soft']


@struct.dataclass
class SoftAttender(AttenderBase):
    """Soft attention, with its weights.

    Attributes: score_function of decoder and source states; softmax variant.
    """

    score_function: ScoreFunction
    softmax: RowSoftmax

    def __call__(
        self, states: Float[Array, 'B T D'], layer_context: LayerContext, memory: EncodedSource, key: PRNGKey | None
    ) -> AttentionOutput:
        k, v = memory.heads()
        q, scoring = self.score_function.queries(states, k), self.scoring(layer_context.numbered, memory)
        context, weights = scoring.attend(q, k, v)
        return AttentionOutput(context[:, :, 0], weights[:, 0])


class Soft(Module):
    """Soft attention.

    Attributes: score function of decoder and source states; softmax variant.
    """

    score: Part
    softmax: Part[SoftmaxVariant] = Part(Softmax)

    @nn.compact
    def __call__(self, query_width: int, key_width: int) -> SoftAttender:
        score_function = self.score(name='score')(query_width, key_width)
        return SoftAttender(score_function, self.softmax(name='softmax')(1))
