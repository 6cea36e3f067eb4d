# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Cosine attention: scores are cosines of queries and keys times a trained gain, independent of their norms.

    s[n, i, j] = gain[n] q[n, i].k[g, j] / (|q[n, i]| |k[g, j]|),      gain = exp(g), at most 100

Liu et al. 2022, "Swin Transformer V2", equation 2 with gain = 1 / tau, https://arxiv.org/abs/2111.09883
Henry et al. 2020, "Query-Key Normalization for Transformers", https://arxiv.org/abs/2010.04245, train one gain directly
and initialise it to log2(L^2 - L) for sequences of L tokens. The mixer's scale has no effect. Cost: at most one
additional product of queries and keys.
"""

import math

import flax.linen as nn
import jax.numpy as jnp

from saccade.axes import parameter
from saccade.module import Module
from saccade.ops import score_terms
from saccade.types import Positive, UserError

__all__ = ['Cosine']


class Cosine(Module):
    """Cosine attention scores.

    Attributes: gain, the initial gain, 10 in the authors' code; most, the maximum gain after a training step, 100 by
    the paper's tau > 0.01.
    """

    gain: Positive = 10.0
    most: Positive = 100.0

    @nn.compact
    def terms(self, heads: int) -> tuple[score_terms.Cosine, ...]:
        """Return the term that replaces q.k by gain cos(q, k), with a trained gain per head.

        Raises:
            UserError: `gain` is above `most`.
        """
        if self.gain > self.most:
            raise UserError(f'score.cosine:Cosine: gain must be at most {self.most}, not {self.gain}')
        start = nn.initializers.constant(math.log(self.gain))
        # Not clipped here: above the bound the gradient would be zero.
        log_gain = parameter(self, 'log_gain', 'N', start, (heads,), most=math.log(self.most), dtype=jnp.float32)
        return (score_terms.Cosine(jnp.exp(log_gain)),)
