# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Gated linear attention (GLA): the state decays per key feature at data-dependent rates.

    S_t = diag(a_t) S_(t-1) + k_t v_t^T,   head = norm(q_t^T S_t / sqrt(H)),   Y = (silu(X Wg) * head) Wo
    a_t = sigmoid(x_t W1 W2 + c)^(1/tau)   for each feature of each head, W1 of rank 16, tau = 16

Yang et al. 2023, "Gated Linear Attention Transformers with Hardware-Efficient Training", section 4,
https://arxiv.org/abs/2312.06635; there a head has H = D / (2 N) features of a key and D / N of a value. The norm is
the RMSNorm of the authors' code; the gate has no bias. It is retention with data-dependent rates per feature.
No cross-attention and no scores. Cost: B T N H (V + C) and the projections, for chunks of C; the decoding state is
B N H V.
"""

from typing import ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array

from saccade.attention.memory_base import FixedState
from saccade.axes import parameter
from saccade.norm.rms import RMSNorm
from saccade.ops.linear_attention import Memory, retain
from saccade.types import Count, Hidden, LayerContext, Norm, Part, Positive, Queries

__all__ = ['GatedLinear']


class GatedLinear(FixedState):
    """Gated linear attention mixer.

    Attributes: the attributes of FixedState; decay_rank, rank of the projection to the decay; temperature, tau: larger
    values give slower decay.
    """

    head_norm: Part[Norm] | None = Part(RMSNorm)
    gate: Part | None = Part(jax.nn.silu)
    decay_rank: Count = 16
    temperature: Positive = 16.0

    example: ClassVar[dict] = {'chunk': 4, 'value_width': 6}

    def update_state(
        self, x: Hidden, q: Queries, k: Queries, v: Array, context: LayerContext, state: Memory
    ) -> tuple[Array, Memory]:
        """Decay each feature and add the token; return the heads' output [B T N V] and the new memory."""
        shape = k.shape[-2:]
        bias = parameter(self, 'decay_bias', 'N H', nn.initializers.zeros, shape)
        logits = (self.to_heads('decay', x, shape[-1], self.decay_rank) + bias).astype(jnp.float32)
        log_decay = self.tap('log_decay', 'B T N H', jax.nn.log_sigmoid(logits) / self.temperature)
        return retain(q, k.astype(jnp.float32) * shape[-1] ** -0.5, v, log_decay, context.numbered, state, self.chunk)
