# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Position-wise feed-forward layer of two linear maps.

    y = W2 act(W1 x + b1) + b2        W1 [D F], W2 [F D], for each token

Vaswani et al. 2017, "Attention Is All You Need", equation 2, https://arxiv.org/abs/1706.03762
F is `ratio` D, usually 4 D. The activation is any function of arrays, by its import path: GELU (Hendrycks, Gimpel 2016)
is `ops.activation:gelu`, its tanh approximation `jax.nn:gelu`, squared ReLU (So et al. 2021, Primer)
`ops.activation:squared_relu`.
Cost: 2 T D F multiply-adds.
"""

import flax.linen as nn

from saccade.axes import parameter
from saccade.module import Transform
from saccade.ops.project import project
from saccade.types import Activation, Hidden, Part, Positive, Real, Share, UserError

__all__ = ['MLP']


class MLP(Transform):
    """Position-wise feed-forward layer.

    Attributes:
        activation: function between the maps.
        ratio: F/D.
        bias: whether the maps have biases.
        dropout: dropout rate of the output.
        kernel_init: initialiser of W1.
        output_init: initialiser of W2.
    """

    activation: Part[Activation] = Part(nn.gelu)
    ratio: Positive = 4.0
    bias: bool = True
    dropout: Share = 0.0
    kernel_init: Part = Part(nn.initializers.lecun_normal)
    output_init: Part = Part(nn.initializers.lecun_normal)

    @nn.compact
    def __call__(self, x: Hidden, train: bool = False, real: Real | None = None) -> Hidden:
        D, F = x.shape[-1], round(self.ratio * x.shape[-1])
        if not F:
            raise UserError(f'feedforward.mlp:MLP: a ratio of {self.ratio} leaves nothing of a width of {D}')
        h = project(x, parameter(self, 'up', 'D -> F', self.kernel_init(), (D, F)))
        if self.bias:
            h = h + parameter(self, 'up_bias', 'F', nn.initializers.zeros, (F,))
        h = self.tap('hidden', 'B T F', self.activation(h), real=real)
        y = project(h, parameter(self, 'down', 'F -> D', self.output_init(), (F, D)))
        if self.bias:
            y = y + parameter(self, 'down_bias', 'D', nn.initializers.zeros, (D,))
        return nn.Dropout(self.dropout)(y, deterministic=not train)
