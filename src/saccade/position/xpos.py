# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""xPos: rotary positions with products that decay with distance, fastest at the shortest wavelengths.

    q_i <- z^(i/u) R(i) q_i,  k_j <- z^(-j/u) R(j) k_j,      z_c = (2c/H + gamma) / (1 + gamma)

Sun et al. 2022, "A Length-Extrapolatable Transformer" (XPos), algorithm 1, https://arxiv.org/abs/2212.10554
gamma = 0.4 is from the paper, u = 512 from the authors' code. No parameters; cost T N H. Products depend only on
i - j. For causal models only: products with later keys would grow. Keys grow with their position; with these values
they are in the range of float32 and bfloat16 up to 35,000 tokens, of float16 up to 4,000.
"""

import jax.numpy as jnp
from jaxtyping import Array, Int

from saccade.ops import rotary
from saccade.position.rotary import OnHeads
from saccade.types import Keys, Positive, Queries, UserError

__all__ = ['XPos']


class XPos(OnHeads):
    """Rotary positions with decay (xPos).

    Attributes: base, longest wavelength over 2 pi, in tokens; gamma in the equation; unit u of the decay, in tokens.
    """

    base: Positive = 10000.0
    gamma: Positive = 0.4
    unit: Positive = 512.0

    def rotate(
        self, q: Queries, k: Keys, q_positions: Int[Array, 'B T'], k_positions: Int[Array, 'B S']
    ) -> tuple[Queries, Keys]:
        """Rotate queries and keys by their positions; scale queries by z^(i/u) and keys by z^(-j/u)."""
        return self._turned(q, q_positions, 1.0), self._turned(k, k_positions, -1.0)

    def _turned(self, x: Queries, positions: Int[Array, 'B T'], sign: float) -> Queries:
        H = x.shape[-1]
        if H % 2 or self.gamma <= 0 or self.unit <= 0:
            raise UserError(
                f'position.xpos:XPos needs an even head width and a positive gamma and unit, not {H}, {self.gamma} '
                f'and {self.unit}'
            )
        shrinkage = jnp.log(rotary.decays(H, self.gamma)).astype(jnp.float32)
        gain = jnp.exp(sign * positions[..., None] / self.unit * shrinkage)
        return rotary.rotate(x, rotary.angles(positions, H, self.base), gain)
