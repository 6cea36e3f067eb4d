# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Bidirectional recurrent encoder layer: a forward and a backward cell, so every token depends on all others.

    f_t = cell(f_(t-1), x_t);   b_t = cell'(b_(t+1), x_t);   y_t = [f_t ; b_t] W

Schuster, Paliwal 1997, "Bidirectional Recurrent Neural Networks", https://doi.org/10.1109/78.650093. Causal use and
decoding are not supported. Cost: twice that of a cell, plus 2 D^2 per token; the directions can run in parallel.
"""

from typing import Any, ClassVar, NoReturn

import flax.linen as nn
import jax.numpy as jnp

from saccade.axes import parameter
from saccade.module import Layer
from saccade.ops.project import project
from saccade.recurrent.cell.base import Cell
from saccade.recurrent.encoder import over
from saccade.recurrent.mixer.recurrent import own_segments
from saccade.types import Capabilities, Hidden, LayerContext, Part, Share, State, UserError

__all__ = ['Bidirectional']


class Bidirectional(Layer):
    """Bidirectional recurrent encoder layer.

    Attributes: cell of each direction, of any width; dropout of the output; output_init, the initialiser of W.
    """

    cell: Part[Cell]
    dropout: Share = 0.0
    output_init: Part = Part(nn.initializers.lecun_normal)

    capabilities: ClassVar[Capabilities] = Capabilities(
        causal=False, cross=False, terms=False, cached=False, equivariant=False, time='B T D^2', memory='B T D'
    )
    sees_others: ClassVar[bool] = True
    example: ClassVar[dict[str, Any]] = {'cell': {'use': 'recurrent.cell.gru:GRU', 'width': 12}}

    @nn.compact
    def mix(self, x: Hidden, context: LayerContext, train: bool, state: State | None) -> tuple[Hidden, None]:
        """Run both cells over whole sequences; there is no state."""
        segments = own_segments(self, context)
        ways = {'forward': False, 'backward': True}
        hidden = [over(self.cell(name=way), x, segments, reverse)[0] for way, reverse in ways.items()]
        both = jnp.concatenate(hidden, axis=-1)
        y = project(both, parameter(self, 'output', 'D -> D', self.output_init(), (both.shape[-1], x.shape[-1])))
        return nn.Dropout(self.dropout)(y, deterministic=not train), None

    def init_state(self, x: Hidden, capacity: int) -> NoReturn:
        """Raise an error: decoding is not supported.

        Raises:
            UserError: always; every token depends on later tokens.
        """
        raise UserError('recurrent.mixer.bidirectional:Bidirectional cannot decode: every token depends on later ones')
