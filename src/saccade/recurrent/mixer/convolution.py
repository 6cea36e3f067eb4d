# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Causal convolution instead of attention: a token sees itself and the M - 1 tokens before it, by fixed weights.

    y_t = b + sum over m = 0 .. M-1 of x_(t-m) W_m           W_m a matrix, or a factor for each feature

Gehring et al. 2017, "Convolutional Sequence to Sequence Learning", https://arxiv.org/abs/1705.03122; with factors it is
depthwise: Kaiser et al. 2018, "Depthwise Separable Convolutions for Neural Machine Translation",
https://arxiv.org/abs/1706.03059. Tokens n apart meet after n / (M - 1) layers. It is causal, reads its own document
alone, and has no scores; theirs gates its output too, as a block's feed-forward layer may. Cost: M D^2 a token, or M D;
the state to decode with is M D, whatever its capacity.
"""

from typing import Any, ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Float, Int

from saccade.axes import parameter
from saccade.ops.convolution import convolve
from saccade.recurrent.mixer.recurrent import own_segments
from saccade.types import Capabilities, Count, Hidden, LayerContext, Part, Share, require_positive


@struct.dataclass
class Newest:
    """State of a convolution: each row's newest tokens, the newest last; segment 0 where there is none."""

    x: Float[Array, 'B M D']
    segments: Int[Array, 'B M']


class Convolution(nn.Module):
    """Causal convolution over tokens.

    Attributes: size, M in tokens; depthwise, whether taps are factors; dropout of the output; kernel_init of W.
    """

    size: Count
    depthwise: bool
    dropout: Share = 0.0
    kernel_init: Part = Part(nn.initializers.lecun_normal)

    capabilities: ClassVar[Capabilities] = Capabilities(
        full=False, cross=False, terms=False, equivariant=False, time='B T M D^2', memory='B T D', state='M D'
    )
    example: ClassVar[dict[str, Any]] = {'size': 9, 'depthwise': False}  # as wide as the rows that it is tried on

    def __call__(self, x: Hidden, context: LayerContext, train: bool) -> Hidden:
        return self._around(x, own_segments(self, context), self.size - 1, 0, train)

    def init_state(self, x: Hidden, capacity: int) -> Newest:
        """Return M - 1 empty places a row, whatever the capacity.

        Raises:
            UserError: `size` is below 1.
        """
        require_positive(Part(type(self)).name, size=self.size)
        B, _, D = x.shape
        return Newest(jnp.zeros((B, self.size - 1, D), x.dtype), jnp.zeros((B, self.size - 1), jnp.int32))

    def step(self, x: Hidden, context: LayerContext, state: Newest) -> tuple[Hidden, Newest]:
        """Convolve a chunk with the M - 1 tokens before it; return the output and the newest M - 1 tokens."""
        segments = jnp.concatenate([state.segments, own_segments(self, context)], axis=1)
        # What is no token stands first, so that no tap is spent on padding between a row's tokens.
        order = jnp.argsort(segments != 0, axis=1, stable=True)
        x, segments = (
            _taken(jnp.concatenate([state.x, x.astype(state.x.dtype)], axis=1), order),
            _taken(segments, order),
        )
        y = _taken(self._around(x, segments, self.size - 1, 0, False), jnp.argsort(order, axis=1))
        first, newest = self.size - 1, x.shape[1] - (self.size - 1)
        return y[:, first:], Newest(x[:, newest:], segments[:, newest:])

    @nn.compact
    def _around(self, x: Hidden, segments: Int[Array, 'B T'], before: int, after: int, train: bool) -> Hidden:
        require_positive(Part(type(self)).name, size=self.size)
        D = x.shape[-1]
        # Drawn as the matrix of all that a token reads, and named as what mixers end with.
        axes, shape = ('X D', (self.size, D)) if self.depthwise else ('D -> D', (self.size * D, D))
        drawn = parameter(self, 'output', axes, self.kernel_init(), shape)
        kernel = drawn if self.depthwise else drawn.reshape(self.size, D, D)
        ends = ((0, 0), (before, after))
        y = convolve(jnp.pad(x, (*ends, (0, 0))), jnp.pad(segments, ends), kernel, before)
        y = y + parameter(self, 'bias', 'D', nn.initializers.zeros, (D,))
        return nn.Dropout(self.dropout)(y, deterministic=not train)


def _taken(x: Array, order: Int[Array, 'B T']) -> Array:
    return jax.vmap(lambda row, order: jnp.take(row, order, axis=0))(x, order)
