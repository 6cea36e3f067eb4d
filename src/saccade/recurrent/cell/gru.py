# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Gated recurrent unit (GRU): an update gate z mixes the old state and the candidate, which has a reset gate r.

    r, z = sigmoid(h_(t-1) W + x_t U + b), of each its own;   n = tanh((r h_(t-1)) W_n + x_t U_n + b_n);
    h_t = z h_(t-1) + (1 - z) n

Cho et al. 2014, "Learning Phrase Representations using RNN Encoder-Decoder for Statistical Machine Translation",
equations 5 to 8, https://arxiv.org/abs/1406.1078. cuDNN and PyTorch apply r after the product with W_n, unlike the
paper and this cell. Cost: 3 D (D + E) per token, sequential.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from saccade.recurrent.cell.base import Cell, recurrent_product

__all__ = ['GRU']


class GRU(Cell):
    """Gated recurrent unit of Cho et al. 2014. Attributes: the attributes of Cell."""

    squares: ClassVar[int] = 3

    def advance(self, R: Float[Array, 'D F'], h: Float[Array, 'B D'], u: Float[Array, 'B F']) -> Float[Array, 'B D']:
        """Return the next hidden state: the gates r and z, then the candidate n."""
        gates = 2 * self.width
        r, z = jnp.split(jax.nn.sigmoid(recurrent_product(h, R[:, :gates]) + u[:, :gates]), 2, axis=-1)
        r, z = self.at_token('reset_gate', r), self.at_token('update_gate', z)
        n = self.at_token('candidate', jnp.tanh(recurrent_product(r * h, R[:, gates:]) + u[:, gates:]))
        return self.at_token('state', z * h + (1.0 - z) * n)
