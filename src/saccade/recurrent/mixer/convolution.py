# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Causal convolution over each token and the M - 1 tokens before it, instead of attention.

    y_t = b + sum over m = 0 .. M-1 of x_(t-m) W_m           W_m a matrix, or a factor per feature if depthwise

Gehring et al. 2017, "Convolutional Sequence to Sequence Learning", https://arxiv.org/abs/1705.03122; depthwise: Kaiser
et al. 2018, "Depthwise Separable Convolutions for Neural Machine Translation", https://arxiv.org/abs/1706.03059.
Tokens at distance n interact after n / (M - 1) layers. It is causal, without cross-attention and scores, and does not
cross documents. The paper's also gates its output; here a gated feed-forward layer can do so. Cost: M D^2 per token,
or M D if depthwise; decoding state M D, independent of the capacity.
"""

from typing import Any, ClassVar

import flax.linen as nn
import jax.numpy as jnp
from jaxtyping import Array, Int

from saccade.axes import parameter
from saccade.ops.convolution import convolve
from saccade.recurrent.mixer.newest_base import ReadsNewest
from saccade.types import Capabilities, Hidden, Part

__all__ = ['Convolution']


class Convolution(ReadsNewest):
    """Causal convolution over tokens.

    Attributes: size, in tokens (M); depthwise, whether W_m is a factor per feature; bias, whether to add b; dropout of
    the output; kernel_init, the initialiser of W.
    """

    depthwise: bool
    bias: bool = True
    kernel_init: Part = Part(nn.initializers.lecun_normal)

    capabilities: ClassVar[Capabilities] = Capabilities(
        full=False, cross=False, terms=False, equivariant=False, time='B T M D^2', memory='B T D', state='M D'
    )
    example: ClassVar[dict[str, Any]] = {'size': 9, 'depthwise': False}  # covers the rows of the tests

    @nn.compact
    def convolve(self, x: Hidden, segments: Int[Array, 'B T'], ends: tuple[int, int], train: bool) -> Hidden:
        """Return the convolution at each token."""
        D = x.shape[-1]
        # Initialised as one matrix over all inputs of a token, and named like the output projection of other mixers.
        axes, shape = ('X D', (self.size, D)) if self.depthwise else ('D -> D', (self.size * D, D))
        drawn = parameter(self, 'output', axes, self.kernel_init(), shape, decays=self.depthwise)
        kernel = drawn if self.depthwise else drawn.reshape(self.size, D, D)
        y = convolve(jnp.pad(x, ((0, 0), ends, (0, 0))), jnp.pad(segments, ((0, 0), ends)), kernel, ends[0])
        if self.bias:
            y = y + parameter(self, 'bias', 'D', nn.initializers.zeros, (D,))
        return nn.Dropout(self.dropout)(y, deterministic=not train)
