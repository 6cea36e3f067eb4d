# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""nGPT attention: queries and keys of norm 1 with a trained gain per feature, and scores scaled by sqrt(H).

    s[n, i, j] = sqrt(H) sum_c (g_nc unit(q_ni)_c) (g_nc unit(k_gj)_c)        g [N H], after the positions

Loshchilov, Hsieh, Sun, Ginsburg 2024, "nGPT: Normalized Transformer with Representation Learning on the Hypersphere",
section 2.3.2, https://arxiv.org/abs/2410.01131. Ours multiplies only queries, by g^2, which is equivalent and
supports shared key heads. Equal g give cosine attention with a gain of sqrt(H) g^2. The normalisation removes the
scaling of positions such as xPos. Cost: multi-head attention and 3 T N H.
"""

import jax.numpy as jnp
from jaxtyping import Array, Int

from saccade.attention.multi_head import MultiHead, SharedKV
from saccade.gain import Gain
from saccade.ops.scoring import Scoring
from saccade.ops.similarity import normalised
from saccade.types import Hidden, Keys, LayerContext, PairPosition, Part, Queries

__all__ = ['NormalizedHeads']


class NormalizedHeads(MultiHead):
    """nGPT attention.

    Attributes: the attributes of MultiHead, where scale None means sqrt(H); gain, the initial gain of features.
    """

    gain: Part[Gain] = Part(Gain)

    def rotate(
        self,
        position: PairPosition,
        q: Queries,
        k: Keys,
        q_positions: Int[Array, 'B T'],
        k_positions: Int[Array, 'B S'],
    ) -> tuple[Queries, Keys]:
        """Apply positions and normalise queries and keys; multiply queries by the squared gains."""
        q, k = super().rotate(position, q, k, q_positions, k_positions)
        N, H = q.shape[-2:]
        gain = self.gain()(self, 'gain', 'N H', (N, H), N * H).astype(jnp.float32)
        return (jnp.square(gain) * normalised(q)).astype(q.dtype), normalised(k).astype(k.dtype)

    def scoring(self, x: Hidden, context: LayerContext, position: PairPosition, made: SharedKV | None) -> Scoring:
        """Return the scoring of multi-head attention, with a default scale of sqrt(H)."""
        scoring = super().scoring(x, context, position, made)
        return scoring if self.scale is not None else scoring.replace(scale=self.sizes(x.shape[-1])[2] ** 0.5)
