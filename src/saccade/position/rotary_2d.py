# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Axial rotary 2D positions: half of the features are rotated by the column, half by the row.

    q_i . k_j  depends only on  x_i - x_j  and  y_i - y_j,      x = i mod columns,  y = i // columns

Heo et al. 2024, "Rotary Position Embedding for Vision Transformer", RoPE-Axial, https://arxiv.org/abs/2403.13298
The base of 100 is from the paper, as grids are shorter than texts. Features c and c + H/2 are paired, a permutation of
the paper's pairs. No parameters; cost T N H. The tokens are the grid, row by row, after the places `before` it.
"""

from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from saccade.ops import rotary
from saccade.position.rotary import OnHeads
from saccade.types import Count, CountOrZero, Keys, Positive, Queries, UserError

__all__ = ['Rotary2D']


class Rotary2D(OnHeads):
    """Axial rotary positions of a grid.

    Attributes:
        columns: number of columns of the grid.
        base: longest wavelength over 2 pi, in patches.
        before: number of places before the grid, such as a class token; they are not rotated.
    """

    columns: Count
    base: Positive = 100.0
    before: CountOrZero = 0

    example: ClassVar[dict[str, Any]] = {'columns': 3}

    def rotate(
        self, q: Queries, k: Keys, q_positions: Int[Array, 'B T'], k_positions: Int[Array, 'B S']
    ) -> tuple[Queries, Keys]:
        """Rotate half of the features of queries and keys by the column of the grid, half by the row.

        Raises:
            UserError: the head width is not divisible by 4.
        """
        if q.shape[-1] % 4:
            raise UserError(f'position.rotary_2d:Rotary2D needs a head width divisible by 4, not {q.shape[-1]}')
        half = q.shape[-1] // 2
        return rotary.rotate(q, self._angles(q_positions, half)), rotary.rotate(k, self._angles(k_positions, half))

    def _angles(self, positions: Int[Array, 'B T'], width: int) -> Float[Array, 'B T half']:
        place = jnp.maximum(positions - self.before, 0)
        places = (place % self.columns, place // self.columns)
        return jnp.concatenate([rotary.angles(place, width, self.base) for place in places], axis=-1)
