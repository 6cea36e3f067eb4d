# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Performer: softmax attention estimated by positive orthogonal random features (FAVOR+), in linear time.

    exp(scale q.k) ~ mean over w of phi_w(q) phi_w(k),   phi_w(x) = exp(w.x' - |x'|^2 / 2),  x' = sqrt(scale) x

Choromanski et al. 2021, "Rethinking Attention with Performers", lemma 1 and section 2.4,
https://arxiv.org/abs/2009.14794
The directions w are constants, drawn once from the seed: all heads, and all layers with the same seed, share them.
Ours tracks the largest exponent of the keys so far, like an online softmax, and adds no constant to
the features: outputs cannot overflow and do not depend on later tokens. The error decreases as 1/sqrt(R), and
grows with the norms of queries and keys. Cost and limits: as `attention.linear`.
"""

from typing import ClassVar

from jaxtyping import Array, Int

from saccade.attention.memory_base import FeatureKernel
from saccade.ops.random_features import orthogonal_directions, positive_features
from saccade.types import Capabilities, Count, CountOrZero, Part, Queries, UserError

__all__ = ['Performer']


class Performer(FeatureKernel):
    """Performer kernel (FAVOR+).

    Attributes: random_features, their number (R); seed of the directions; chunk, in tokens.
    """

    random_features: Count
    seed: CountOrZero = 0

    capabilities: ClassVar[Capabilities] = Capabilities(
        terms=False, sums=True, time='B T N R H', memory='B T N R', state='K R H'
    )
    example: ClassVar[dict] = {'chunk': 4, 'random_features': 24}

    def features(self, x: Queries, scale: float, positions: Int[Array, 'B T']) -> tuple[Array, Array]:
        """Return positive random features [B T N R] of sqrt(scale) x, and the log [B T N] of their factored-out scale.

        Raises:
            UserError: the scale is not positive.
        """
        if scale <= 0:
            raise UserError(f'{Part(type(self)).name}: the scale of the scores must be positive, not {scale}')
        return positive_features(scale**0.5 * x, orthogonal_directions(self.random_features, x.shape[-1], self.seed))
