# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sinusoidal absolute positions, added to the embedded token.

    p[i, 2c] = sin(i / base^(2c/D)),  p[i, 2c+1] = cos(i / base^(2c/D))

Vaswani et al. 2017, "Attention Is All You Need", section 3.5, https://arxiv.org/abs/1706.03762
p[i + k] is a linear function of p[i]. No parameters; any length. Cost: T D.
"""

from typing import ClassVar

import flax.linen as nn
import jax.numpy as jnp
from einops import rearrange
from jaxtyping import Array, Int

from saccade.ops.rotary import angles
from saccade.types import Can, Hidden, UserError


class Sinusoid(nn.Module):
    """Attributes: base is the longest wavelength over 2 pi, in tokens."""

    base: float = 10000.0

    can: ClassVar[Can] = Can(equivariant=False)

    def __call__(self, x: Hidden, positions: Int[Array, 'B T']) -> Hidden:
        if x.shape[-1] % 2:
            raise UserError(f'position.sinusoid:Sinusoid needs an even width, not {x.shape[-1]}')
        angle = angles(positions, x.shape[-1], self.base)
        waves = rearrange(jnp.stack([jnp.sin(angle), jnp.cos(angle)], axis=-1), 'B T half pair -> B T (half pair)')
        return x + waves.astype(x.dtype)
