# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Long short-term memory (LSTM): gates and an additive memory c, to avoid vanishing gradients over steps.

    i, f, o = sigmoid(h_(t-1) W + x_t U + b), of each its own;   g = tanh(the same);
    c_t = f c_(t-1) + i g;   h_t = o tanh(c_t)

Hochreiter, Schmidhuber 1997, "Long Short-Term Memory", https://doi.org/10.1162/neco.1997.9.8.1735, with the forget gate
f of Gers et al. 2000, https://doi.org/10.1162/089976600300015015. The bias of f is initialised to 1, so that a cell
initially remembers: Jozefowicz et al. 2015, https://proceedings.mlr.press/v37/jozefowicz15.html
Cost: 4 D (D + E) per token, sequential.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Float

from saccade.recurrent.cell.base import Cell, recurrent_product

__all__ = ['LSTM']


@struct.dataclass
class LSTMState:
    """State of an LSTM: hidden state h and memory cell c.

    Attributes: h, the output; c.
    """

    h: Float[Array, 'B D']
    c: Float[Array, 'B D']


class LSTM(Cell):
    """Long short-term memory.

    Attributes: the attributes of Cell; forget_bias, the initial bias of the forget gate.
    """

    forget_bias: float = 1.0

    squares: ClassVar[int] = 4

    def advance(self, R: Float[Array, 'D F'], state: LSTMState, u: Float[Array, 'B F']) -> LSTMState:
        """Return the next hidden state and memory cell: the gates i, f, o and the candidate g."""
        i, f, g, o = jnp.split(recurrent_product(state.h, R) + u, 4, axis=-1)
        f, i = self.at_token('forget_gate', jax.nn.sigmoid(f)), self.at_token('input_gate', jax.nn.sigmoid(i))
        c = self.at_token('memory', f * state.c + i * self.at_token('candidate', jnp.tanh(g)))
        o = self.at_token('output_gate', jax.nn.sigmoid(o))
        return LSTMState(self.at_token('state', o * jnp.tanh(c)), c)

    def start(self, batch: int) -> LSTMState:
        """Return zeros for h and c."""
        return LSTMState(*(jnp.zeros((batch, self.width)) for _ in range(2)))

    def hidden(self, state: LSTMState) -> Float[Array, 'B D']:
        """Return h."""
        return state.h

    def bias(self) -> Float[Array, ' F']:
        """Return the initial bias [4 D] of i, f, g, o: `forget_bias` for f, zeros for the others."""
        return jnp.zeros((4, self.width)).at[1].set(self.forget_bias).ravel()
