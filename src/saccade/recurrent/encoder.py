# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Recurrent encoder: layers of cells over a source, in one or both directions.

    h_j = [cell(h_(j-1), x_j) ; cell(h_(j+1), x_j)],    context = [h_S ; h_1], of the last and the first token

Sutskever et al. 2014, "Sequence to Sequence Learning with Neural Networks", https://arxiv.org/abs/1409.3215; in both
directions: Schuster, Paliwal 1997, "Bidirectional Recurrent Neural Networks", https://doi.org/10.1109/78.650093. Each
direction has a cell of its own, and skips padding. Cost: that of a cell, per layer and direction.
"""

import flax.linen as nn
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Float, Int, PyTree

from saccade.module import Module
from saccade.ops.recurrence import Carried
from saccade.recurrent.cell.base import Cell
from saccade.types import Count, Hidden, LayerContext, Part, Share

__all__ = ['Encoder']


@struct.dataclass
class Encoded:
    """Output of a recurrent encoder.

    Attributes:
        hidden: hidden states of all tokens, the directions of the last layer concatenated.
        context: fixed context vector: the last layer's hidden state after all tokens, the directions concatenated.
        states: cell state after all tokens, per layer and direction.
        segments: segments of the tokens; 0 is padding.
    """

    hidden: Float[Array, 'B S C']
    context: Float[Array, 'B C']
    states: tuple[tuple[PyTree, ...], ...]
    segments: Int[Array, 'B S']


class Encoder(Module):
    """Recurrent encoder.

    Attributes: cell of each layer and direction; layers, their number (L); bidirectional, whether to run in both
    directions; dropout between the layers.
    """

    cell: Part[Cell]
    layers: Count
    bidirectional: bool
    dropout: Share = 0.0

    @nn.compact
    def __call__(self, x: Hidden, layer_context: LayerContext, train: bool = False) -> Encoded:
        segments = layer_context.numbered
        states, context = [], None
        for layer in range(self.layers):
            x = x if layer == 0 else nn.Dropout(self.dropout)(x, deterministic=not train)
            x, context, last = self._layer(layer, x, segments)
            x = self.tap(f'layer_{layer}_state', 'B S D', x)
            states.append(last)
        return Encoded(x, self.tap('context', 'B D', context), tuple(states), segments)

    def _layer(
        self, layer: int, x: Float[Array, 'B S E'], segments: Int[Array, 'B S']
    ) -> tuple[Array, Array, tuple[PyTree, ...]]:
        """Return all and the last hidden states, directions concatenated, and the last state of each direction."""
        ways = ('forward', 'backward') if self.bidirectional else ('forward',)
        cells = [self.cell(name=f'layer_{layer}_{way}') for way in ways]
        found = [over(cell, x, segments, way == 'backward') for cell, way in zip(cells, ways, strict=True)]
        hidden, states = zip(*found, strict=True)
        last = [cell.hidden(state).astype(x.dtype) for cell, state in zip(cells, states, strict=True)]
        return jnp.concatenate(hidden, axis=-1), jnp.concatenate(last, axis=-1), states


def over(
    cell: Cell, x: Float[Array, 'B S E'], segments: Int[Array, 'B S'], reverse: bool
) -> tuple[Float[Array, 'B S D'], PyTree]:
    """Run a cell over whole rows; return the hidden states and the state after the last token."""
    weights = cell.recurrence(x.shape[-1])
    start = Carried.before(cell.start(x.shape[0]))
    hidden, carried = cell.run(weights, weights.products(x), segments, start, reverse)
    return hidden.astype(x.dtype), carried.state
