# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Elman RNN: tanh of the sum of a linear map of the previous state and one of the input.

    h_t = tanh(h_(t-1) W + x_t U + b)

Elman 1990, "Finding Structure in Time", https://doi.org/10.1207/s15516709cog1402_1
Its gradient vanishes or explodes with the number of steps: Bengio et al. 1994, "Learning Long-Term Dependencies
with Gradient Descent is Difficult", https://doi.org/10.1109/72.279181. Cost: D (D + E) per token, sequential.
"""

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from saccade.recurrent.cell.base import Cell, recurrent_product
from saccade.types import Part

__all__ = ['RNN']


class RNN(Cell):
    """Elman RNN cell.

    Attributes: the attributes of Cell; activation, tanh instead of the paper's logistic function.
    """

    activation: Part = Part(jnp.tanh)

    squares: ClassVar[int] = 1

    def advance(self, R: Float[Array, 'D D'], h: Float[Array, 'B D'], u: Float[Array, 'B D']) -> Float[Array, 'B D']:
        """Return the next hidden state, activation(h R + u)."""
        return self.at_token('state', self.activation(recurrent_product(h, R) + u))
