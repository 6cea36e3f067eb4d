# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sinusoidal 2D positions, added to the embedded patch: half of the features for the column, half for the row.

    p_i = [sin(x w), cos(x w), sin(y w), cos(y w)],   w_c = base^(-c / (D/4)),   x = i mod columns,  y = i // columns

Chen et al. 2021, "An Empirical Study of Training Self-Supervised Vision Transformers" (MoCo v3), section 4,
https://arxiv.org/abs/2104.02057; Beyer et al. 2022, "Better plain ViT baselines for ImageNet-1k",
https://arxiv.org/abs/2205.01580. No parameters. Places before the grid, such as a class token, have no position. Cost:
T D.
"""

from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Int

from saccade.module import Transform, positions_of
from saccade.types import Capabilities, Count, CountOrZero, Hidden, Positive, UserError

__all__ = ['Sinusoid2D']


class Sinusoid2D(Transform):
    """Sinusoidal positions of a grid.

    Attributes:
        columns: number of columns of the grid.
        before: number of places before the grid.
        base: longest wavelength over 2 pi, in patches.
    """

    columns: Count
    before: CountOrZero = 0
    base: Positive = 10000.0

    capabilities: ClassVar[Capabilities] = Capabilities(equivariant=False)
    example: ClassVar[dict[str, Any]] = {'columns': 3}

    def __call__(self, x: Hidden, positions: Int[Array, 'B T'] | None = None) -> Hidden:
        if x.shape[-1] % 4:
            raise UserError(f'position.sinusoid_2d:Sinusoid2D needs a width divisible by 4, not {x.shape[-1]}')
        positions = positions_of(x) if positions is None else positions
        waves = self.base ** (-jnp.arange(0, 1, 4 / x.shape[-1]))
        place = positions - self.before
        angles = [axis[..., None] * waves for axis in (place % self.columns, place // self.columns)]
        added = jnp.concatenate([wave(angle) for angle in angles for wave in (jnp.sin, jnp.cos)], axis=-1)
        return x + jnp.where(place[..., None] >= 0, added, 0.0).astype(x.dtype)
