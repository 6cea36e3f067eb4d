# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Hard attention: the context is one hidden state of the source, sampled in training and the most likely otherwise.

    alpha_i = softmax(score(s_i, h));    j ~ alpha_i in training, j = argmax alpha_i otherwise;    c_i = h_j

Xu et al. 2015, "Show, Attend and Tell", section 4.1, https://arxiv.org/abs/1502.03044. The choice has no gradient with
respect to the scores; the `estimator` supplies one. Interface and cost are those of soft attention.
"""

import flax.linen as nn
from flax import struct
from jaxtyping import Array, Float

from saccade.module import Module
from saccade.ops.scoring import weighted_values
from saccade.recurrent.decoder.attention_base import AttenderBase, AttentionOutput, EncodedSource, ScoreFunction
from saccade.recurrent.decoder.estimator_base import Estimator, likeliest
from saccade.softmax.softmax import Softmax
from saccade.types import LayerContext, Part, PRNGKey, RowSoftmax, SoftmaxVariant

__all__ = ['Hard']


@struct.dataclass
class HardAttender(AttenderBase):
    """Hard attention, with its weights.

    Attributes: score_function; softmax, which computes the odds; estimator of the gradient.
    """

    score_function: ScoreFunction
    softmax: RowSoftmax
    estimator: Estimator

    def __call__(
        self, states: Float[Array, 'B T D'], layer_context: LayerContext, memory: EncodedSource, key: PRNGKey | None
    ) -> AttentionOutput:
        k, v = memory.heads()
        q, scoring = self.score_function.queries(states, k), self.scoring(layer_context.numbered, memory)
        odds = scoring.attend(q, k, v)[1][:, 0]
        chosen, report = (likeliest(odds), {}) if key is None else self.estimator(odds, states, key)
        return AttentionOutput(weighted_values(chosen[:, None], v, v.dtype)[:, :, 0], chosen, report=report)


class Hard(Module):
    """Hard attention.

    Attributes: score function of decoder and source states; estimator of the gradient; softmax variant for the odds of
    the choice.
    """

    score: Part
    estimator: Part
    softmax: Part[SoftmaxVariant] = Part(Softmax)

    @nn.compact
    def __call__(self, query_width: int, key_width: int) -> HardAttender:
        score_function = self.score(name='score')(query_width, key_width)
        return HardAttender(
            score_function, self.softmax(name='softmax')(1), self.estimator(name='estimator')(query_width)
        )
