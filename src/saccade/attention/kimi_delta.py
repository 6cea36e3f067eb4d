# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Kimi delta attention (KDA): Gated DeltaNet with a decay per key feature, as in gated linear attention.

    S_t = (I - b_t k_t k_t^T) diag(a_t) S_(t-1) + b_t k_t v_t^T,   Y = (sigmoid(X W1 W2) * norm(q_t^T S_t)) Wo
    a_t = exp(-e^r softplus(x_t W3 W4 + c))   for each feature of each head; q, k, v and b as in `attention.delta:Delta`
    a_t = exp(-m sigmoid(e^r (x_t W3 W4 + c)))   with `decay_bound` m

Kimi Team 2025, "Kimi Linear: An Expressive, Efficient Attention Architecture", equation 1 and section 4,
https://arxiv.org/abs/2510.26692. As published, `decay_rank` and `gate_rank` are the width of a head, and there is a
`convolution` of 4 tokens without bias. GLM-5.3 and Kimi K3 bound the decay, with m = 5 (`lower_bound` of
https://github.com/fla-org/flash-linear-attention, where r is initialised to 0). No cross-attention and no scores.
Cost: B T N (H + C) (H + V + C) and the projections, for chunks of C; the decoding state is B N H V.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array

from saccade.attention.delta import Delta
from saccade.axes import parameter
from saccade.types import Count, Hidden, Part, Positive

__all__ = ['KimiDelta']


class KimiDelta(Delta):
    """Kimi delta attention mixer.

    Attributes: the attributes of Delta; decay_rank, rank of the projection to the decay, None for one full matrix;
    decay_bound (m), upper bound of -log a, None for a decay without bound.
    """

    gate: Part | None = Part(jax.nn.sigmoid)
    decay_rank: Count | None = None
    decay_bound: Positive | None = None

    example: ClassVar[dict] = Delta.example | {'decay_rank': 4, 'gate_rank': 4}

    def log_decay(self, x: Hidden, width: int) -> Array:
        """Return log a per head and feature [B T N H]. Called in a compact method."""
        rate = parameter(self, 'log_rate', 'N', self.rate_init(), (self.heads,), dtype=jnp.float32)
        bias = parameter(self, 'step_bias', 'N H', self.step_init(), (self.heads, width), dtype=jnp.float32)
        steps = self.to_heads('step', x, width, self.decay_rank).astype(jnp.float32) + bias
        rate = jnp.exp(rate)[:, None]
        if self.decay_bound is None:
            return self.tap('log_decay', 'B T N H', -rate * jax.nn.softplus(steps))
        return self.tap('log_decay', 'B T N H', -self.decay_bound * jax.nn.sigmoid(rate * steps))
