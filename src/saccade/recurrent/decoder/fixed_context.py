# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Recurrent decoder without attention: one fixed-length context vector represents the source.

    s_t = cell(s_(t-1), y_(t-1))             or, with `fed`,     s_t = cell(s_(t-1), [y_(t-1) ; c])

Sutskever et al. 2014, https://arxiv.org/abs/1409.3215, use the context only as the initial state; Cho et al. 2014,
https://arxiv.org/abs/1406.1078, equation 2, also feed it at every step. Only tokens are fed back, so in training each
layer is one scan over whole rows. Cost: that of the cell.
"""

from jaxtyping import PyTree

from saccade.module import Module
from saccade.recurrent.cell.base import Cell
from saccade.recurrent.decoder.base import Decoded, Inputs, Writing
from saccade.recurrent.decoder.layers import Layers
from saccade.recurrent.encoder import Encoded
from saccade.types import Count, LayerContext, Part, Share

__all__ = ['FixedContext']


class FixedContext(Module):
    """Recurrent decoder without attention.

    Attributes: cell of each layer; layers, their number (L); fed, whether the context is an input of every step;
    dropout between the layers.
    """

    cell: Part[Cell]
    layers: Count
    fed: bool
    dropout: Share = 0.0

    def setup(self) -> None:
        """Create the layers of cells."""
        self.stack = Layers(self.cell, self.layers, self.dropout, name='layers')

    def start(self, batch: int) -> tuple[PyTree, ...]:
        """Return the state of each layer before the first token."""
        return self.stack.start(batch)

    def begin(self, encoded: Encoded, cells: tuple[PyTree, ...]) -> Writing:
        """Return the decoder's state before the first token, with the context vector if it is fed."""
        return Writing(encoded.context if self.fed else None, cells)

    def __call__(self, x: Inputs, layer_context: LayerContext, state: Writing, train: bool = False) -> Decoded:
        E, context = x.shape[-1], state.source
        steps = self.stack.recurrences(E if context is None else E + context.shape[-1])
        u = steps[0].products(x)
        if context is not None:
            u = u + steps[0].products(context, first=E)[:, None]
        hidden, cells = self.stack.whole(steps, u, layer_context.numbered, state.cells, train)
        return hidden.astype(x.dtype), None, state.replace(cells=cells)
