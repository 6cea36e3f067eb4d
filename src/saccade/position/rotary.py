# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Rotary position embedding (RoPE): queries and keys are rotated by angles proportional to their positions.

    q_i <- R(i) q_i,  k_j <- R(j) k_j,  so that  q_i . k_j  depends only on i - j

Su et al. 2021, "RoFormer: Enhanced Transformer with Rotary Position Embedding", equation 34,
https://arxiv.org/abs/2104.09864
The default pairing is of feature c and c + H/2, as in GPT-NeoX and Llama; `ops.rotary:neighbours` is the paper's. With
a `share` below 1 the other features have no position (GPT-NeoX, Phi). No parameters; cost T N H. Far beyond the
training lengths quality decreases; `scaling` stretches the wavelengths for this: `ops.rotary:linear`, `ntk`, `yarn`,
`llama3` or `longrope`; `ops.rotary:highest` omits the low frequencies (p-RoPE).
"""

from collections.abc import Callable
from typing import Annotated, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Int

from saccade.module import Module
from saccade.ops import rotary
from saccade.types import Capabilities, Keys, Part, Positive, Queries, Range, ScoreTerm, UserError

__all__ = ['Rotary']


class OnHeads(Module):
    """Base class of position schemes that rotate queries and keys."""

    capabilities: ClassVar[Capabilities] = Capabilities(equivariant=False)

    def terms(self, heads: int) -> tuple[ScoreTerm, ...]:
        """Return no score terms."""
        return ()


class Rotary(OnHeads):
    """Rotary position embedding.

    Also called: RoPE, rotary embedding.

    Attributes:
        base: longest wavelength over 2 pi, in tokens.
        scaling: maps frequencies to frequencies, or to `ops.rotary:Waves`.
        share: share of the features, the first ones, that are rotated.
        pairing: pairs of features that are rotated together.
    """

    base: Positive = 10000.0
    scaling: Part[Callable[[rotary.Frequencies], rotary.Frequencies | rotary.Waves]] | None = None
    share: Annotated[float, Range(above=0, most=1)] = 1.0
    pairing: Part[rotary.Pairing] = Part(rotary.halves)

    def rotate(
        self, q: Queries, k: Keys, q_positions: Int[Array, 'B T'], k_positions: Int[Array, 'B S']
    ) -> tuple[Queries, Keys]:
        """Rotate pairs of features of queries and keys by angles proportional to their positions."""
        width = int(q.shape[-1] * self.share)
        if not 0 < self.share <= 1 or width % 2 or not width:
            raise UserError(
                f'position.rotary:Rotary turns an even number of features, not a share of {self.share} of {q.shape[-1]}'
            )
        frequencies = rotary.frequencies(width, self.base)
        scaled = frequencies if self.scaling is None else self.scaling(frequencies)
        frequencies, gain = scaled if isinstance(scaled, rotary.Waves) else (scaled, 1.0)
        turned = []
        for x, positions in ((q, q_positions), (k, k_positions)):
            part = rotary.rotate(x[..., :width], rotary.turn(positions, frequencies), gain, self.pairing)
            turned.append(jnp.concatenate([part, x[..., width:]], axis=-1) if width < x.shape[-1] else part)
        return turned[0], turned[1]
