# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""sLSTM (of xLSTM): an LSTM with exponential input gates, whose memory is normalised by the sum of the gates.

    i = exp(a_i);  f, o = sigmoid(a_f), sigmoid(a_o);  z = tanh(a_z),   a = h_(t-1) W + x_t U + b, of each its own
    c_t = f c_(t-1) + i z;   n_t = f n_(t-1) + i;   h_t = o c_t / n_t

Beck et al. 2024, "xLSTM: Extended Long Short-Term Memory", equations 8 to 18, https://arxiv.org/abs/2405.04517
c and n are stored divided by exp(m), m the highest input gate so far, decayed since, so gates of any size are exact.
With i = 1 - f it is a convex combination. With `heads` N, W is block diagonal (section 2.2): the gates of a head read
the D/N features of h of that head only. Cost: 4 D (D/N + E) per token, sequential.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Float

from saccade.recurrent.cell.base import Cell, recurrent_product
from saccade.types import Count

__all__ = ['SLSTM']


@struct.dataclass
class SLSTMState:
    """State of an sLSTM: hidden state h, memory cell c, normaliser n, and the logarithm m of their common divisor.

    Attributes: h, the output; c; n, the sum of the weights in c, 0 before the first token; m, the stabiliser.
    """

    h: Float[Array, 'B D']
    c: Float[Array, 'B D']
    n: Float[Array, 'B D']
    m: Float[Array, 'B D']


class SLSTM(Cell):
    """sLSTM cell.

    Attributes: the attributes of Cell; heads, number of diagonal blocks of W (N); forget_bias, the initial bias of the
    forget gate.
    """

    heads: Count = 1
    forget_bias: float = 1.0

    squares: ClassVar[int] = 4

    def advance(self, R: Float[Array, '_ F'], state: SLSTMState, u: Float[Array, 'B F']) -> SLSTMState:
        """Return the next state: the gates i, f, o and the candidate z; i, f, c and n as divided by exp(m)."""
        i, f, z, o = jnp.split(recurrent_product(state.h, R) + u, 4, axis=-1)
        old = state.m + jax.nn.log_sigmoid(f)
        # After the first token n is at least 1: the highest weight is stored as 1.
        m = jnp.where(state.n == 0, i, jnp.maximum(old, i))
        kept = jnp.where(state.n == 0, 0.0, jnp.exp(jnp.minimum(old - m, 0.0)))
        f, i = self.at_token('forget_gate', kept), self.at_token('input_gate', jnp.exp(i - m))
        c, n = f * state.c + i * self.at_token('candidate', jnp.tanh(z)), f * state.n + i
        c, n = self.at_token('memory', c), self.at_token('normaliser', n)
        o = self.at_token('output_gate', jax.nn.sigmoid(o))
        return SLSTMState(self.at_token('state', o * c / n), c, n, m)

    def start(self, batch: int) -> SLSTMState:
        """Return zeros for h, c, n and m."""
        return SLSTMState(*(jnp.zeros((batch, self.width)) for _ in range(4)))

    def hidden(self, state: SLSTMState) -> Float[Array, 'B D']:
        """Return h."""
        return state.h

    def bias(self) -> Float[Array, ' F']:
        """Return the initial bias [4 D] of i, f, z, o: `forget_bias` for f, zeros for the others."""
        return jnp.zeros((4, self.width)).at[1].set(self.forget_bias).ravel()
