# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sinusoidal absolute positions, added to the embedded token.

    p[i, 2c] = s sin(i / base^(2c/D)),  p[i, 2c+1] = s cos(i / base^(2c/D))

Vaswani et al. 2017, "Attention Is All You Need", section 3.5, https://arxiv.org/abs/1706.03762
p[i + k] is a linear function of p[i]. No parameters; any length. In the paper s = 1, and embeddings are scaled to be of
that size (section 3.4): waves of 1 drown embeddings that start at 0.02. Cost: T D.
"""

from typing import ClassVar

import flax.linen as nn
import jax.numpy as jnp
from einops import rearrange
from jaxtyping import Array, Int

from saccade.ops.rotary import angles
from saccade.types import Can, Hidden, UserError


class Sinusoid(nn.Module):
    """Attributes: base is the longest wavelength over 2 pi, in tokens; scale, s."""

    base: float = 10000.0
    scale: float = 1.0

    can: ClassVar[Can] = Can(equivariant=False)

    def __call__(self, x: Hidden, positions: Int[Array, 'B T']) -> Hidden:
        if x.shape[-1] % 2:
            raise UserError(f'position.sinusoid:Sinusoid needs an even width, not {x.shape[-1]}')
        angle = angles(positions, x.shape[-1], self.base)
        waves = rearrange(jnp.stack([jnp.sin(angle), jnp.cos(angle)], axis=-1), 'B T half pair -> B T (half pair)')
        return x + (self.scale * waves).astype(x.dtype)
