# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base class of causal mixers in which a token reads itself and a fixed number of tokens before it."""

from collections.abc import Callable

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

    @classmethod
    def empty(cls, x: Hidden, places: int) -> 'Newest':
        """Return a state of empty places for tokens like x."""
        return cls(jnp.zeros((len(x), places, x.shape[-1]), x.dtype), jnp.zeros((len(x), places), jnp.int32))

    def read(
        self, run: Callable[[Array, Array], Array], x: Hidden, segments: Int[Array, 'B T']
    ) -> tuple[Hidden, 'Newest']:
        """Run a function of tokens and their segments on these tokens and a chunk x; return its output for x, and the
        new state.

        Args:
            run: function that returns the outputs of at least the last T tokens. They have no padding between them.
        """
        places, T = self.x.shape[1], x.shape[1]
        segments = jnp.concatenate([self.segments, segments], axis=1)
        # Padding is moved to the front, so that there is none between a row's tokens.
        order = jnp.argsort(segments != 0, axis=1, stable=True)
        x = _taken(jnp.concatenate([self.x, x.astype(self.x.dtype)], axis=1), order)
        segments = _taken(segments, order)
        among_last = jnp.maximum(jnp.argsort(order, axis=1)[:, places:] - places, 0)
        return _taken(run(x, segments)[:, -T:], among_last), Newest(x[:, T:], segments[:, T:])


class ReadsNewest(Layer):
    """Base class of causal mixers in which a token reads itself and the M - 1 tokens before it.

    Attributes: size, in tokens (M); dropout of the output.
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
        return Newest.empty(x, self.size - 1)

    def mix(self, x: Hidden, context: LayerContext, train: bool, state: Newest | None) -> tuple[Hidden, Newest | None]:
        """Mix whole sequences, or a chunk with the M - 1 tokens before it; the state is the newest M - 1 tokens."""
        segments, ends = own_segments(self, context), (self.size - 1, 0)
        if state is None:
            return self.convolve(x, segments, ends, train), None
        return state.read(lambda x, segments: self.convolve(x, segments, ends, train), x, segments)


def _taken(x: Array, order: Int[Array, 'B T']) -> Array:
    return jax.vmap(lambda row, order: jnp.take(row, order, axis=0))(x, order)
