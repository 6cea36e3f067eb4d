# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base class of causal mixers in which a token reads itself and a fixed number of tokens before it."""

import jax
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Float, Int

from saccade.module import Layer
from saccade.recurrent.mixer.recurrent import own_segments
from saccade.types import Count, Hidden, LayerContext, Share


@struct.dataclass
class Newest:
    """Decoding state: the newest tokens of each row, the newest last; segment 0 marks an empty slot."""

    x: Float[Array, 'B M D']
    segments: Int[Array, 'B M']


class ReadsNewest(Layer):
    """Base class of causal mixers in which a token reads itself and the M - 1 tokens before it.

    Attributes: size, M in tokens; dropout of the output.
    """

    size: Count
    dropout: Share = 0.0

    def convolve(self, x: Hidden, segments: Int[Array, 'B T'], ends: tuple[int, int], train: bool) -> Hidden:
        """Return the output of each token, and create the parameters. Abstract.

        Args:
            segments: a token reads only tokens of its own segment; 0 is padding.
            ends: number of padding tokens to add before the first and after the last token of a row.
        """
        raise NotImplementedError

    def init_state(self, x: Hidden, capacity: int) -> Newest:
        """Return M - 1 empty places a row, whatever the capacity."""
        B, _, D = x.shape
        return Newest(jnp.zeros((B, self.size - 1, D), x.dtype), jnp.zeros((B, self.size - 1), jnp.int32))

    def mix(self, x: Hidden, context: LayerContext, train: bool, state: Newest | None) -> tuple[Hidden, Newest | None]:
        """Mix whole sequences, or a chunk with the M - 1 tokens before it; the state is the newest M - 1 tokens."""
        segments, ends = own_segments(self, context), (self.size - 1, 0)
        if state is None:
            return self.convolve(x, segments, ends, train), None
        segments = jnp.concatenate([state.segments, segments], axis=1)
        # Padding is moved to the front, so that there is none between a row's tokens.
        order = jnp.argsort(segments != 0, axis=1, stable=True)
        x, segments = (
            _taken(jnp.concatenate([state.x, x.astype(state.x.dtype)], axis=1), order),
            _taken(segments, order),
        )
        y = _taken(self.convolve(x, segments, ends, train), jnp.argsort(order, axis=1))
        first, newest = self.size - 1, x.shape[1] - (self.size - 1)
        return y[:, first:], Newest(x[:, newest:], segments[:, newest:])


def _taken(x: Array, order: Int[Array, 'B T']) -> Array:
    return jax.vmap(lambda row, order: jnp.take(row, order, axis=0))(x, order)
