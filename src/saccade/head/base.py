# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Output heads: an optional hidden layer and an output layer."""

import flax.linen as nn
from jaxtyping import Array, Float

from saccade.axes import parameter
from saccade.ops.project import project
from saccade.types import Count, Part, Share, require_positive, require_share


def dense(module: nn.Module, name: str, x: Float[Array, '*B D'], width: int, init: Part) -> Float[Array, '*B F']:
    """Apply an affine map whose parameters, NAME and NAME_bias, belong to the module."""
    y = project(x, parameter(module, name, 'D -> X', init(), (x.shape[-1], width)))
    return y + parameter(module, f'{name}_bias', 'X', nn.initializers.zeros, (width,))


class Classes(nn.Module):
    """Classification head: scores of C classes.

    Attributes:
        classes: C; None for the hidden layer's output as it is.
        activation: of a hidden layer before the output, of the input's width; None for no such layer.
        dropout: of the output layer's input.
        kernel_init: of both layers.
    """

    classes: Count | None
    activation: Part | None = None
    dropout: Share = 0.0
    kernel_init: Part = Part(nn.initializers.normal, (('stddev', 0.02),))

    def _scores(self, x: Float[Array, '*B D'], train: bool) -> Float[Array, '*B C']:
        name = Part(type(self)).name
        require_share(name, dropout=self.dropout)
        if self.activation is not None:
            x = self.activation(dense(self, 'hidden', x, x.shape[-1], self.kernel_init))
        if self.classes is None:
            return x
        require_positive(name, classes=self.classes)
        return dense(
            self, 'output', nn.Dropout(self.dropout)(x, deterministic=not train), self.classes, self.kernel_init
        )
