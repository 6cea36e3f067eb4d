# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Learned absolute positions: one trained vector per position, added to the embedded token.

    x_i <- x_i + p_i        p in R^(length x D)

Gehring et al. 2017, "Convolutional Sequence to Sequence Learning", section 3.1, https://arxiv.org/abs/1705.03122
Positions of `length` or more raise an error, unless `stretch` is more than 1: then position i is interpolated between
two rows at i / stretch, as vision transformers do for larger images (Dosovitskiy et al. 2021, section 3.2), here along
one axis. The unused first rows of RoBERTa's, OPT's and BART's tables are not part of the table. Cost: length D
parameters.
"""

from typing import Annotated, ClassVar

import flax.linen as nn
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from saccade.axes import parameter
from saccade.module import Transform, positions_of
from saccade.types import Capabilities, Count, Hidden, Part, Range, UserError

__all__ = ['Learned']


class Learned(Transform):
    """Learned absolute positions.

    Attributes: length, the number of rows; stretch, tokens per row; table_init, the initialiser of the table.
    """

    length: Count
    stretch: Annotated[float, Range(least=1)] = 1.0
    table_init: Part = Part(nn.initializers.normal, (('stddev', 0.02),))

    capabilities: ClassVar[Capabilities] = Capabilities(equivariant=False)

    @nn.compact
    def __call__(self, x: Hidden, positions: Int[Array, 'B T'] | None = None) -> Hidden:
        positions = positions_of(x) if positions is None else positions
        longest = self._longest()
        if x.shape[1] > longest:
            raise UserError(
                f'a sequence of {x.shape[1]} tokens is longer than the {longest} learned positions; '
                f'raise the length of position.learned:Learned, or its stretch, or shorten the sequence'
            )
        table = parameter(self, 'positions', 'T D', self.table_init(), (self.length, x.shape[-1]), dtype=jnp.float32)
        # Cast before the lookup, so that the gradient is summed over the rows of the batch in the wider dtype.
        return x + self._read(table, positions).astype(x.dtype)

    def _longest(self) -> int:
        """Number of positions that the rows serve; the last of them reads at most the last row."""
        return int((self.length - 1) * self.stretch) + 1

    def _read(self, table: Float[Array, 'length D'], positions: Int[Array, 'B T']) -> Float[Array, 'B T D']:
        # A decoding step beyond the table reads NaN, not the last position.
        if self.stretch == 1:
            return jnp.take(table, positions, axis=0, mode='fill')
        place = positions / self.stretch
        below, above = (jnp.take(table, row(place).astype(int), axis=0, mode='fill') for row in (jnp.floor, jnp.ceil))
        return below + (place - jnp.floor(place))[..., None] * (above - below)
