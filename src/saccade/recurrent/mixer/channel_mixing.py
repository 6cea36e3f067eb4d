# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Channel mixing (RWKV): a gated feed-forward layer whose input interpolates each token and the previous one.

    z_t = m * x_t + (1 - m) * x_{t-1};   y_t = sigmoid(Wr z^r_t) * (Wv relu(Wk z^k_t)^2),   separate m for r and k

Peng et al. 2023, "RWKV: Reinventing RNNs for the Transformer Era", channel mixing, https://arxiv.org/abs/2305.13048
RWKV-7 has no gate: Peng et al. 2025, section 4.2, https://arxiv.org/abs/2503.14456
As it reads another token it is a mixer: use it in a block with `feedforward=None`, after the block of the time mixing.
m is initialised to 1/2. Cost: 2 D F + D^2 per token, without a gate 2 D F; decoding state D.
"""

from typing import Any, ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from saccade.axes import parameter
from saccade.ops.activation import squared_relu
from saccade.ops.convolution import convolve
from saccade.ops.project import project
from saccade.recurrent.mixer.newest_base import ReadsNewest
from saccade.types import Capabilities, Hidden, Part, Positive, UserError

__all__ = ['ChannelMixing']


class ChannelMixing(ReadsNewest):
    """Channel mixing.

    Attributes: size, 2 tokens; ratio F/D; gate, activation of z^r Wr, None for no gate; kernel_init, the initialiser of
    Wr [D D] and Wk [D F]; output_init, the initialiser of Wv [F D].
    """

    size: int = 2
    ratio: Positive = 4.0
    gate: Part | None = Part(jax.nn.sigmoid)
    kernel_init: Part = Part(nn.initializers.lecun_normal)
    output_init: Part = Part(nn.initializers.lecun_normal)

    capabilities: ClassVar[Capabilities] = Capabilities(
        full=False, cross=False, terms=False, equivariant=False, time='B T D F', memory='B T F', state='D'
    )
    example: ClassVar[dict[str, Any]] = {'size': 2}

    @nn.compact
    def convolve(self, x: Hidden, segments: Int[Array, 'B T'], ends: tuple[int, int], train: bool) -> Hidden:
        """Return the feed-forward layer's output at each token.

        Raises:
            UserError: `size` is not 2, or `ratio` gives no hidden units.
        """
        D, F = x.shape[-1], round(self.ratio * x.shape[-1])
        if self.size != 2 or not F:
            name = 'recurrent.mixer.channel_mixing:ChannelMixing'
            raise UserError(f'{name}: size must be 2, not {self.size}, and a ratio of {self.ratio} leave a hidden unit')
        half = nn.initializers.constant(0.5)

        def mixed(name: str) -> Hidden:
            m = parameter(self, f'{name}_share', 'D', half, (D,))
            padded, of = jnp.pad(x, ((0, 0), ends, (0, 0))), jnp.pad(segments, ((0, 0), ends))
            return convolve(padded, of, jnp.stack([1 - m, m]), ends[0])

        h = squared_relu(project(mixed('up'), parameter(self, 'up', 'D -> F', self.kernel_init(), (D, F))))
        y = project(h, parameter(self, 'down', 'F -> D', self.output_init(), (F, D)))
        if self.gate is not None:
            kernel = parameter(self, 'gate', 'D -> D', self.kernel_init(), (D, D))
            y = self.gate(project(mixed('gate'), kernel)) * y
        return nn.Dropout(self.dropout)(y, deterministic=not train)
