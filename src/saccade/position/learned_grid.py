# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Learned 2D positions, interpolated to other grids: one trained vector per patch of an image (ViT).

    x_i <- x_i + p_i        p in R^((before + rows columns) x D)

Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words", section 3.1 and, of the interpolation, 3.2,
https://arxiv.org/abs/2010.11929. For an image of another resolution, set `onto` to its grid: the vectors are
interpolated along both axes by cubic convolution (Keys 1981, https://doi.org/10.1109/TASSP.1981.1163711, a = -0.75 as
in PyTorch); the vectors of the places `before` the grid are unchanged. Cost: (before + rows columns) D parameters.
"""

from typing import Any, ClassVar

import flax.linen as nn
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from saccade.axes import parameter
from saccade.module import Transform, positions_of
from saccade.types import Capabilities, Count, CountOrZero, Hidden, Part, UserError

__all__ = ['LearnedGrid']

_SHARPNESS = -0.75


class LearnedGrid(Transform):
    """Learned positions of a grid.

    Attributes:
        rows, columns: size of the table's grid.
        before: number of places before the grid, such as a class token.
        onto: rows and columns of the input's grid; None for the table's grid.
        table_init: initialiser of the table.
    """

    rows: Count
    columns: Count
    before: CountOrZero = 0
    onto: tuple[Count, Count] | None = None
    table_init: Part = Part(nn.initializers.normal, (('stddev', 0.02),))

    capabilities: ClassVar[Capabilities] = Capabilities(equivariant=False)
    example: ClassVar[dict[str, Any]] = {'rows': 8, 'columns': 8}

    @nn.compact
    def __call__(self, x: Hidden, positions: Int[Array, 'B T'] | None = None) -> Hidden:
        name, (rows, columns) = 'position.learned_grid:LearnedGrid', self.onto or (self.rows, self.columns)
        if x.shape[1] > self.before + rows * columns:
            raise UserError(
                f'{name}: {x.shape[1]} places are more than the {self.before} before the grid and its {rows} by '
                f'{columns}; where images have another resolution, set `onto` to [rows, columns] of their patches'
            )
        positions = positions_of(x) if positions is None else positions
        size = self.before + self.rows * self.columns
        table = parameter(self, 'positions', 'T D', self.table_init(), (size, x.shape[-1]), dtype=jnp.float32)
        if (rows, columns) != (self.rows, self.columns):
            grid = table[self.before :].reshape(self.rows, self.columns, -1)
            grid = jnp.einsum('yr,xc,rcd->yxd', cubic(self.rows, rows), cubic(self.columns, columns), grid)
            table = jnp.concatenate([table[: self.before], grid.reshape(rows * columns, -1)])
        return x + jnp.take(table, positions, axis=0, mode='fill').astype(x.dtype)


def cubic(size: int, onto: int) -> Float[np.ndarray, 'onto size']:
    """Return the matrix that interpolates `size` samples to `onto` samples by cubic convolution.

    Both cover the same interval, with samples at the centres of equal parts; the first and last sample are repeated
    beyond the ends.
    """
    places = (np.arange(onto) + 0.5) * size / onto - 0.5
    left = np.floor(places).astype(int)
    matrix = np.zeros((onto, size), np.float32)
    for offset in range(-1, 3):
        distance, a = np.abs(places - left - offset), _SHARPNESS
        near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
        far = ((distance - 5) * distance + 8) * distance * a - 4 * a
        np.add.at(matrix, (np.arange(onto), np.clip(left + offset, 0, size - 1)), np.where(distance <= 1, near, far))
    return matrix
