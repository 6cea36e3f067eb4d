# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Output heads: an optional hidden layer and an output layer."""

import flax.linen as nn
from jaxtyping import Array, Float

from saccade.axes import parameter
from saccade.module import Module
from saccade.ops.project import project
from saccade.types import Count, Part, Share


def hidden(
    module: nn.Module, x: Float[Array, '*B D'], width: int, init: Part, bias: bool = True
) -> Float[Array, '*B E']:
    """Apply the hidden layer of a head, without its activation: a linear map to `width` features, and a bias."""
    y = project(x, parameter(module, 'hidden', 'D -> D', init(), (x.shape[-1], width)))
    if not bias:
        return y
    return y + parameter(module, 'hidden_bias', 'D', nn.initializers.zeros, (width,))


class Classes(Module):
    """Classification head: scores of C classes.

    Attributes:
        classes: C; None to return the output of the hidden layer.
        activation: activation of a hidden layer of the input's width; None for no hidden layer.
        dropout: dropout rate of the output layer's input.
        bias: whether the output layer has a bias.
        kernel_init: initialiser of both layers.
    """

    classes: Count | None
    activation: Part | None = None
    dropout: Share = 0.0
    bias: bool = True
    kernel_init: Part = Part(nn.initializers.normal, (('stddev', 0.02),))

    def _scores(self, x: Float[Array, '*B D'], train: bool) -> Float[Array, '*B C']:
        if self.activation is not None:
            x = self.activation(hidden(self, x, x.shape[-1], self.kernel_init))
        return self._output(x, train)

    def _output(self, x: Float[Array, '*B D'], train: bool) -> Float[Array, '*B C']:
        if self.classes is None:
            return x
        x = nn.Dropout(self.dropout)(x, deterministic=not train)
        y = project(x, parameter(self, 'output', 'D -> C', self.kernel_init(), (x.shape[-1], self.classes)))
        return y + parameter(self, 'output_bias', 'C', nn.initializers.zeros, (self.classes,)) if self.bias else y
