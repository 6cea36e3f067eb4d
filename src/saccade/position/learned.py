# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Learned absolute positions: one trained vector a position, added to the embedded token.

    x_i <- x_i + p_i        p in R^(length x D)

Gehring et al. 2017, "Convolutional Sequence to Sequence Learning", section 3.1, https://arxiv.org/abs/1705.03122
Cost: length D parameters. It cannot serve a position of `length` or more, and says so.
"""

import flax.linen as nn
import jax.numpy as jnp
from jaxtyping import Array, Int

from saccade.types import Hidden, Part, UserError


class Learned(nn.Module):
    """Attributes: length is the number of positions, in tokens; table_init makes the table."""

    length: int
    table_init: Part = Part(nn.initializers.normal, (('stddev', 0.02),))

    @nn.compact
    def __call__(self, x: Hidden, positions: Int[Array, 'B T']) -> Hidden:
        if x.shape[1] > self.length:
            raise UserError(
                f'a sequence of {x.shape[1]} tokens is longer than the {self.length} learned positions; '
                f'raise the length of position.learned:Learned or shorten the sequence'
            )
        # A decoding step beyond the table reads NaN, not a neighbour's position.
        table = self.param('positions', self.table_init(), (self.length, x.shape[-1]))
        # Widened before the lookup, whose gradient sums over the rows of the batch.
        return x + jnp.take(table.astype(jnp.float32), positions, axis=0, mode='fill').astype(x.dtype)
