# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""HGRN2: a gated linear RNN with keys tied to the forget gate, k = 1 - f, which bounds the state.

    S_t = diag(f_t) S_(t-1) + (1 - f_t) v_t^T,   Y = norm(q_t^T S_t of all heads) Wo
    q = silu(x Wq),   f = l + (1 - l) sigmoid(x Wk),   v = x Wv

Qin et al. 2024, "HGRN2: Gated Linear RNNs with State Expansion", equation 6 and section 3, https://arxiv.org/abs/2404.07904.
In the paper the lower bound l of a layer is trained and grows with depth; ours is a constant of the config, 0 as in the
paper's first layer, and may differ between layers. It is gated linear attention with k = 1 - f. No
cross-attention and no scores. Cost: B T N H (V + C) and the projections, for chunks of C; the state is B N H V.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array

from saccade.attention.memory_base import FixedState
from saccade.norm.rms import RMSNorm
from saccade.ops.linear_attention import Memory, retain
from saccade.types import Hidden, LayerContext, Norm, Part, Queries, Share

__all__ = ['HGRN2']


class HGRN2(FixedState):
    """HGRN2 mixer.

    Attributes: the attributes of FixedState; lower_bound (l) of the forget gate; activation of q.
    """

    output_norm: Part[Norm] | None = Part(RMSNorm)
    lower_bound: Share = 0.0
    activation: Part = Part(jax.nn.silu)

    example: ClassVar[dict] = {'chunk': 4, 'value_width': 6, 'lower_bound': 0.2}

    def update_state(
        self, x: Hidden, q: Queries, k: Queries, v: Array, context: LayerContext, state: Memory
    ) -> tuple[Array, Memory]:
        """Forget, and write what was forgotten; return the heads' output [B T N V] and the memory after."""
        q, logits = self.activation(q.astype(jnp.float32)), k.astype(jnp.float32)
        log_forget = jax.nn.log_sigmoid(logits)
        if self.lower_bound:
            log_forget = jnp.logaddexp(jnp.log(self.lower_bound), jnp.log1p(-self.lower_bound) + log_forget)
        log_forget = self.tap('log_decay', 'B T N H', log_forget)
        written = (1.0 - self.lower_bound) * jax.nn.sigmoid(-logits)
        return retain(q, written, v, log_forget, context.numbered, state, self.chunk)
