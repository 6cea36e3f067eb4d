# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Gated feed-forward layer (GLU): one linear map gates another.

    y = W2 (act(Wg x) * (W1 x))        Wg, W1 [D F], W2 [F D], for each token

Shazeer 2020, "GLU Variants Improve Transformer", equations 4-6, https://arxiv.org/abs/2002.05202
The activation names the variant: `jax.nn:sigmoid` GLU, `jax.nn:identity` bilinear, `jax.nn:relu` ReGLU,
`jax.nn:gelu` GEGLU, `jax.nn:silu` SwiGLU. With F = 8/3 D it has as many parameters as an MLP with F = 4 D. `width` sets
F directly. Cost: 3 T D F multiply-adds.
"""

import flax.linen as nn
from jaxtyping import Array, Float

from saccade.axes import parameter
from saccade.module import Transform
from saccade.ops.project import project
from saccade.types import Activation, Count, Hidden, Part, Positive, Real, Share, UserError

__all__ = ['Gated']


class Gated(Transform):
    """Gated feed-forward layer (GLU, SwiGLU, GEGLU ...).

    Also called: GLU, SwiGLU, GEGLU, ReGLU.

    Attributes:
        activation: function of the gate.
        ratio: F/D.
        width: F itself, in place of `ratio`; None for `ratio`.
        bias: whether each map has a bias.
        dropout: dropout rate of the output.
        kernel_init: initialiser of Wg and W1.
        output_init: initialiser of W2.
    """

    activation: Part[Activation] = Part(nn.gelu)
    ratio: Positive = 8 / 3
    width: Count | None = None
    bias: bool = False
    dropout: Share = 0.0
    kernel_init: Part = Part(nn.initializers.lecun_normal)
    output_init: Part = Part(nn.initializers.lecun_normal)

    @nn.compact
    def __call__(self, x: Hidden, train: bool = False, real: Real | None = None) -> Hidden:
        D, F = x.shape[-1], self.width or round(self.ratio * x.shape[-1])
        if not F:
            raise UserError(f'feedforward.gated:Gated: a ratio of {self.ratio} leaves nothing of a width of {D}')
        gate = self._linear('gate', x, F)
        h = self.tap('hidden', 'B T F', self.activation(gate) * self._linear('up', x, F), real=real)
        y = project(h, parameter(self, 'down', 'F -> D', self.output_init(), (F, D)))
        if self.bias:
            y = y + parameter(self, 'down_bias', 'D', nn.initializers.zeros, (D,))
        return nn.Dropout(self.dropout)(y, deterministic=not train)

    def _linear(self, name: str, x: Hidden, F: int) -> Float[Array, 'B T F']:
        h = project(x, parameter(self, name, 'D -> F', self.kernel_init(), (x.shape[-1], F)))
        return h + parameter(self, f'{name}_bias', 'F', nn.initializers.zeros, (F,)) if self.bias else h
