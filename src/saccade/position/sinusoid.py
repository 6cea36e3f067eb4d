# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sinusoidal absolute positions, added to the embedded token.

    p[i, 2c] = s sin(i / base^(2c/D)),  p[i, 2c+1] = s cos(i / base^(2c/D))

Vaswani et al. 2017, "Attention Is All You Need", section 3.5, https://arxiv.org/abs/1706.03762
p[i + k] is a linear function of p[i]. No parameters; any length. In the paper s = 1, and embeddings are scaled to that
size (section 3.4): with s = 1 the positions dominate embeddings initialised at 0.02. The authors' code, and Marian,
have all sines before all cosines: `ops.rotary:halves`. Cost: T D.
"""

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Int

from saccade.module import Transform, positions_of
from saccade.ops.rotary import angles, neighbours
from saccade.types import Capabilities, Hidden, Part, Positive, UserError

__all__ = ['Sinusoid']


class Sinusoid(Transform):
    """Sinusoidal absolute positions.

    Also called: sinusoidal, Fourier.

    Attributes: base is the longest wavelength over 2 pi, in tokens; scale, s; pairing, which features are of one
    wavelength.
    """

    base: Positive = 10000.0
    scale: Positive = 1.0
    pairing: Part = Part(neighbours)

    capabilities: ClassVar[Capabilities] = Capabilities(equivariant=False)

    def __call__(self, x: Hidden, positions: Int[Array, 'B T'] | None = None) -> Hidden:
        if x.shape[-1] % 2:
            raise UserError(f'position.sinusoid:Sinusoid needs an even width, not {x.shape[-1]}')
        positions = positions_of(x) if positions is None else positions
        angle = angles(positions, x.shape[-1], self.base)
        waves = jnp.concatenate([jnp.sin(angle), jnp.cos(angle)], axis=-1)
        places = jnp.argsort(jnp.concatenate(self.pairing(jnp.arange(float(x.shape[-1])))))
        return x + (self.scale * waves[..., places]).astype(x.dtype)
