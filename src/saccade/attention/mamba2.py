# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Mamba-2: a state space model with one decay per head (SSD, state space duality), a form of linear attention.

    S_t = a_t S_(t-1) + d_t k_t v_t^T,   head = q_t^T S_t + w_n v_t,   Y = norm(silu(X Wg) * heads) Wo
    d_t = softplus(x_t Wd + c),   a_t = exp(-e^r d_t),   q, k, v = silu(convolved x Wq, x Wk, x Wv)

Dao, Gu 2024, "Transformers are SSMs: Generalized Models and Efficient Algorithms Through Structured State Space
Duality", sections 6 and 7, https://arxiv.org/abs/2405.21060; C, B, X, Delta there are q, k, v, d here. As published,
N V = 2 D, `head_width` (the state's) is 128, the `convolution` is of 4 tokens, and blocks have no feed-forward layer.
G groups are `key_heads` G with an `output_norm` within each, `norm.group_rms:GroupRMSNorm`. No cross-attention and no
scores. Cost: B T N (H + C) V and the projections, for chunks of C; the decoding state is B N H V.
"""

from typing import ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array

from saccade.attention.memory_base import FixedState
from saccade.axes import parameter
from saccade.norm.rms import RMSNorm
from saccade.ops.initializers import log_rate, step_bias
from saccade.ops.linear_attention import Memory, retain
from saccade.types import Count, Hidden, LayerContext, Norm, Part, Queries

__all__ = ['Mamba2']


class Mamba2(FixedState):
    """Mamba-2 mixer.

    Attributes: the attributes of FixedState; activation of q, k, v; rate_init, initialiser of the log decay rate (r);
    step_init, initialiser of the bias of the step size (c). w starts as ones.
    """

    key_heads: Count | None = 1
    gate: Part | None = Part(jax.nn.silu)
    output_norm: Part[Norm] | None = Part(RMSNorm)
    activation: Part = Part(jax.nn.silu)
    rate_init: Part = Part(log_rate)
    step_init: Part = Part(step_bias)

    example: ClassVar[dict] = {
        'chunk': 4,
        'value_width': 8,
        'activation': {'use': 'jax.nn:silu'},
        'convolution': {'use': 'recurrent.mixer.convolution:Convolution', 'size': 4, 'depthwise': True},
    }

    def update_state(
        self, x: Hidden, q: Queries, k: Queries, v: Array, context: LayerContext, state: Memory
    ) -> tuple[Array, Memory]:
        """Apply the state space model; return the heads' output [B T N V] and the new memory."""
        q, k, v = (self.activation(y.astype(jnp.float32)) for y in (q, k, v))
        rate, bias, skip = (
            parameter(self, name, 'N', init, (self.heads,), dtype=jnp.float32)
            for name, init in (
                ('log_rate', self.rate_init()),
                ('step_bias', self.step_init()),
                ('skip', nn.initializers.ones),
            )
        )
        step = self.tap('step', 'B T N', jax.nn.softplus(self.scalars('step', x) + bias))
        y, state = self.retained(x, q, k, v * step[..., None], -jnp.exp(rate) * step, context, state)
        return y + skip[:, None] * v, state

    def retained(
        self, x: Hidden, q: Queries, k: Queries, v: Array, log_decay: Array, context: LayerContext, state: Memory
    ) -> tuple[Array, Memory]:
        """Add k v^T to the decaying memory and read it; return y and the new memory. Called in a compact method."""
        return retain(q, k, v, log_decay, context.numbered, state, self.chunk)
