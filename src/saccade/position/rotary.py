# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Rotary positions: queries and keys are turned by an angle that grows with their position.

    q_i <- R(i) q_i,  k_j <- R(j) k_j,  so that  q_i . k_j  depends on i - j alone

Su et al. 2021, "RoFormer: Enhanced Transformer with Rotary Position Embedding", equation 34,
https://arxiv.org/abs/2104.09864
Ours pairs feature c with c + H/2, as GPT-NeoX and Llama do; a permutation of H away from the paper's pairs
(2c, 2c+1). No parameters; cost T N H. Far beyond the lengths trained on, quality falls; `scaling` stretches the
wavelengths for that: `ops.rotary:linear` or `ops.rotary:llama3`.
"""

import flax.linen as nn
from jaxtyping import Array, Int

from saccade.ops import rotary
from saccade.types import Part, Queries, ScoreTerm, UserError


class Rotary(nn.Module):
    """Attributes: base is the longest wavelength over 2 pi, in tokens; scaling maps frequencies to frequencies."""

    base: float = 10000.0
    scaling: Part | None = None

    def rotate(self, x: Queries, positions: Int[Array, 'B T']) -> Queries:
        if x.shape[-1] % 2:
            raise UserError(f'position.rotary:Rotary needs an even head width, not {x.shape[-1]}')
        frequencies = rotary.frequencies(x.shape[-1], self.base)
        if self.scaling is not None:
            frequencies = self.scaling(frequencies)
        return rotary.rotate(x, rotary.turn(positions, frequencies))

    def terms(self, heads: int) -> tuple[ScoreTerm, ...]:
        return ()
