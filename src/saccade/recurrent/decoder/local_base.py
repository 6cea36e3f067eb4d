# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Local attention: a decoder state attends only to a window of the source.

    alpha_i = weights of score(s_i, h_j),   j in [p_i - R, p_i + R]

Luong et al. 2015, "Effective Approaches to Attention-based Neural Machine Translation", section 3.1,
https://arxiv.org/abs/1508.04025 (their D is R here). The window is sliced from the source before the scores are
computed, so the cost of a step does not depend on the length of the source.
"""

import jax
import jax.numpy as jnp
from einops import rearrange
from flax import struct
from jaxtyping import Array, Bool, Float, Int

from saccade.ops import plain
from saccade.ops.mask import PrecomputedMask
from saccade.ops.scoring import Scoring
from saccade.recurrent.decoder.attention_base import AttenderBase, AttentionOutput, EncodedSource
from saccade.types import Count, LayerContext, PRNGKey, RowSoftmax, Scores


class LocalAttender(AttenderBase):
    """Base class of local attention, with a `score_function`, a `softmax` and a `reach` R; subclasses compute p."""

    reach: Count

    def centre(
        self, states: Float[Array, 'B T D'], layer_context: LayerContext, lengths: Int[Array, 'B']
    ) -> Float[Array, 'B T']:
        """Return p of each state, in tokens from the first source token; `lengths` are the lengths of the sources."""
        raise NotImplementedError

    def around(self, softmax: RowSoftmax, distance: Float[Array, 'B 1 1 W']) -> RowSoftmax:
        """Return the softmax variant for keys at these distances from p, in tokens."""
        return softmax

    def __call__(
        self, states: Float[Array, 'B T D'], layer_context: LayerContext, memory: EncodedSource, key: PRNGKey | None
    ) -> AttentionOutput:
        T, S = states.shape[1], memory.segments.shape[1]
        W = min(2 * self.reach + 1, S)
        real = memory.segments != 0
        start = jnp.argmax(real, axis=1)  # first token of a source with left padding
        p = start[:, None] + self.centre(states, layer_context, real.sum(axis=1))
        first = jnp.clip(jnp.ceil(p - self.reach).astype(jnp.int32), 0, S - W)
        # Every state has its own keys: states become rows of the batch.
        own = jax.tree.map(lambda leaf: _windows(leaf, first, W), memory)
        distance = rearrange(first[..., None] + jnp.arange(W) - p[..., None], 'B T W -> (B T) 1 1 W')
        k, v = own.heads()
        q = rearrange(self.score_function.queries(states, k), 'B T N A -> (B T) 1 N A')
        asked = rearrange(layer_context.numbered, 'B T -> (B T) 1')
        scoring = self._within(own, asked, distance)
        context, weights = plain.attend(q, k, v, scoring, jnp.arange(1), jnp.arange(W))
        context = rearrange(context, '(B T) 1 1 C -> B T C', T=T)
        return AttentionOutput(context, rearrange(weights, '(B T) 1 1 W -> B T W', T=T), first)

    def _within(self, own: EncodedSource, asked: Int[Array, 'B 1'], distance: Float[Array, 'B 1 1 W']) -> Scoring:
        scoring = self.scoring(asked, own)
        near = jnp.abs(distance[:, 0]) <= self.reach
        same = scoring.mask(jnp.arange(1), jnp.arange(own.segments.shape[1]))
        return scoring.replace(mask=PrecomputedMask(near & same), softmax=self.around(self.softmax, distance))


def _windows(x: Array, first: Int[Array, 'B T'], width: int) -> Array:
    """Return the windows [(B T) W ...] of [B S ...] that begin at `first`."""

    def cut(row: Array, first: Int[Array, '']) -> Array:
        return jax.lax.dynamic_slice_in_dim(row, first, width)

    return rearrange(jax.vmap(jax.vmap(cut, (None, 0)))(x, first), 'B T ... -> (B T) ...')


@struct.dataclass
class Faded:
    """Gaussian window: weights decay with the distance from a centre, which can be between two tokens.

    Attributes:
        softmax: softmax variant.
        distance: distance of each key from the centre, in tokens.
        deviation: standard deviation of the Gaussian factor of the weights, in tokens. Weights do not sum to one.
    """

    softmax: RowSoftmax
    distance: Float[Array, 'B 1 1 W']
    deviation: float = struct.field(pytree_node=False)

    def __call__(self, scores: Scores, allowed: Bool[Array, '#B 1 T S']) -> Scores:
        faded = jnp.exp(-jnp.square(self.distance) / (2 * self.deviation**2))
        return self.softmax(scores, allowed) * faded
