# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Recurrent layer, an alternative to attention: information passes between tokens through one state.

    h_t = cell(h_(t-1), x_t);   y_t = h_t W

Elman 1990, https://doi.org/10.1207/s15516709cog1402_1, with the LSTM of Hochreiter, Schmidhuber 1997,
https://doi.org/10.1162/neco.1997.9.8.1735, as the usual cell. Tokens at distance n are connected by n sequential steps;
in attention by one. It is causal, without cross-attention and scores. Cost: that of the cell plus D^2 per token;
decoding state D, independent of the capacity.
"""

from typing import Any, ClassVar

import flax.linen as nn
from jaxtyping import Array, Int

from saccade.axes import parameter
from saccade.module import Layer
from saccade.ops.project import project
from saccade.ops.recurrence import Carried
from saccade.recurrent.cell.base import Cell
from saccade.types import Capabilities, Hidden, LayerContext, Part, Share, UserError, refuse_terms

__all__ = ['Recurrent']


class Recurrent(Layer):
    """Recurrent layer: a cell run over the tokens.

    Attributes: cell, of any width; dropout of the output; output_init, the initialiser of W.
    """

    cell: Part[Cell]
    dropout: Share = 0.0
    output_init: Part = Part(nn.initializers.lecun_normal)

    capabilities: ClassVar[Capabilities] = Capabilities(
        full=False,
        cross=False,
        terms=False,
        sums=True,
        equivariant=False,
        time='B T D^2',
        memory='B T D',
        state='D',
    )
    example: ClassVar[dict[str, Any]] = {'cell': {'use': 'recurrent.cell.lstm:LSTM', 'width': 12}}

    def init_state(self, x: Hidden, capacity: int) -> Carried:
        """Return the cell's initial state; its size does not depend on the capacity."""
        return Carried.before(self.cell(parent=None).start(x.shape[0]))

    @nn.compact
    def mix(self, x: Hidden, context: LayerContext, train: bool, state: Carried | None) -> tuple[Hidden, Carried]:
        """Run the cell over the tokens, from its initial state or from `state`."""
        segments = own_segments(self, context)
        state = self.init_state(x, 0) if state is None else state
        cell = self.cell(name='cell')
        weights = cell.recurrence(x.shape[-1])
        hidden, state = cell.run(weights, weights.products(x), segments, state)
        output = parameter(self, 'output', 'D -> D', self.output_init(), (cell.width, x.shape[-1]))
        y = project(hidden.astype(x.dtype), output)
        return nn.Dropout(self.dropout)(y, deterministic=not train), state


def own_segments(mixer: nn.Module, context: LayerContext) -> Int[Array, 'B T']:
    """Return the segments of the tokens, for a mixer without cross-attention and scores.

    Raises:
        UserError: the context has a source or score terms.
    """
    name = Part(type(mixer)).name
    if context.source is not None:
        raise UserError(f'{name} reads only its own sequence: it does not support cross-attention')
    refuse_terms(name, context.terms)
    return context.numbered
