# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Local attention, predictive (local-p): each decoder state predicts the centre of its window on the source.

    p_t = (S - 1) sigmoid(v . tanh(s_t W_p));    alpha_t = softmax over j in [p_t - R, p_t + R] of score(s_t, h_j),
    times exp(-(j - p_t)^2 / (2 (R/2)^2))

Luong et al. 2015, "Effective Approaches to Attention-based Neural Machine Translation", equations 9 and 10,
https://arxiv.org/abs/1508.04025, where p_t = S sigmoid(...) counts tokens from 1; here from 0. The Gaussian gives p_t
a gradient; weights do not sum to one. Cost: T (2 R + 1) (A + C) and T D^2, independent of S.
"""

import flax.linen as nn
import jax
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Float, Int

from saccade.axes import parameter
from saccade.module import Module
from saccade.ops.project import project
from saccade.recurrent.decoder.attention_base import ScoreFunction
from saccade.recurrent.decoder.local_base import Faded, LocalAttender
from saccade.softmax.softmax import Softmax
from saccade.types import Count, LayerContext, Part, RowSoftmax, SoftmaxVariant

__all__ = ['LocalPredictive']


@struct.dataclass
class LocalPredictiveAttender(LocalAttender):
    """Local predictive attention (local-p), with its weights.

    Attributes: score_function; softmax; hidden and out, W_p and v; reach, R.
    """

    score_function: ScoreFunction
    softmax: RowSoftmax
    hidden: Float[Array, 'D D']
    out: Float[Array, 'D 1']
    reach: int = struct.field(pytree_node=False)

    def centre(
        self, states: Float[Array, 'B T D'], layer_context: LayerContext, lengths: Int[Array, 'B']
    ) -> Float[Array, 'B T']:
        """Return p_t = (S - 1) sigmoid(v . tanh(s_t W_p)), in tokens."""
        share = jax.nn.sigmoid(project(jnp.tanh(project(states.astype(self.hidden.dtype), self.hidden)), self.out))
        return share[..., 0].astype(jnp.float32) * (lengths[:, None] - 1)

    def around(self, softmax: RowSoftmax, distance: Float[Array, 'B 1 1 W']) -> Faded:
        """Return the softmax with weights multiplied by a Gaussian of standard deviation R / 2 around p_t."""
        return Faded(softmax, distance, self.reach / 2)


class LocalPredictive(Module):
    """Local predictive attention (local-p).

    Attributes: score function of decoder and source states; reach, R in tokens on either side; softmax variant, before
    the Gaussian.
    """

    score: Part
    reach: Count
    softmax: Part[SoftmaxVariant] = Part(Softmax)

    @nn.compact
    def __call__(self, query_width: int, key_width: int) -> LocalPredictiveAttender:
        score_function = self.score(name='score')(query_width, key_width)
        init = nn.initializers.lecun_normal()
        hidden = parameter(self, 'hidden', 'D -> D', init, (query_width, query_width))
        out = parameter(self, 'out', 'D -> 1', init, (query_width, 1))
        return LocalPredictiveAttender(score_function, self.softmax(name='softmax')(1), hidden, out, self.reach)
