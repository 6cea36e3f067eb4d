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

from saccade.recurrent.cell.base import Cell, Rule, recurrent_product

__all__ = ['GRU']


def advance(W: Float[Array, 'D F'], h: Float[Array, 'B D'], u: Float[Array, 'B F']) -> Float[Array, 'B D']:
    """Return the next hidden state: the gates r and z, then the candidate n, in float32."""
    gates = 2 * h.shape[-1]
    r, z = jnp.split(jax.nn.sigmoid(recurrent_product(h, W[:, :gates]) + u[:, :gates]), 2, axis=-1)
    n = jnp.tanh(recurrent_product(r * h, W[:, gates:]) + u[:, gates:])
    return z * h + (1.0 - z) * n


class GRU(Cell):
    """Gated recurrent unit of Cho et al. 2014. Attributes: the attributes of Cell."""

    squares: ClassVar[int] = 3

    def rule(self) -> Rule:
        """Return the GRU's equation, `advance`."""
        return advance
