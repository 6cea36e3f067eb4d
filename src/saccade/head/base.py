# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Output heads: an optional hidden layer and an output layer."""

import flax.linen as nn
from jaxtyping import Array, Float

from saccade.axes import parameter
from saccade.module import Module
from saccade.ops.project import project
from saccade.types import Count, Norm, Part, Share, UserError


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
        classes: number of classes (C); None to return the output of the hidden layer.
        activation: activation of a hidden layer of the input's width; None for no hidden layer.
        hidden_norm: norm after the activation (ModernBERT); None for no norm.
        hidden_bias: whether the hidden layer has a bias.
        dropout: dropout rate of the output layer's input.
        bias: whether the output layer has a bias.
        kernel_init: initialiser of both layers.
    """

    classes: Count | None
    activation: Part | None = None
    hidden_norm: Part[Norm] | None = None
    hidden_bias: bool = True
    dropout: Share = 0.0
    bias: bool = True
    kernel_init: Part = Part(nn.initializers.normal, (('stddev', 0.02),))

    def _scores(self, x: Float[Array, '*B D'], train: bool) -> Float[Array, '*B C']:
        if self.activation is None and self.hidden_norm is not None:
            raise UserError(f'{Part(type(self)).name}: hidden_norm has no effect without activation')
        if self.activation is not None:
            x = self.activation(hidden(self, x, x.shape[-1], self.kernel_init, self.hidden_bias))
        if self.hidden_norm is not None:
            x = self.hidden_norm(name='hidden_norm')(x.reshape(len(x), -1, x.shape[-1])).reshape(x.shape)
        return self._output(x, train)

    def _output(self, x: Float[Array, '*B D'], train: bool) -> Float[Array, '*B C']:
        if self.classes is None:
            return x
        x = nn.Dropout(self.dropout)(x, deterministic=not train)
        y = project(x, parameter(self, 'output', 'D -> C', self.kernel_init(), (x.shape[-1], self.classes)))
        return y + parameter(self, 'output_bias', 'C', nn.initializers.zeros, (self.classes,)) if self.bias else y
