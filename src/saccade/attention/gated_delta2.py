# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Gated DeltaNet-2 (GDN-2): Kimi delta attention that erases and writes by gates of their own, per feature.

    S_t = (I - k_t (e_t * k_t)^T) diag(a_t) S_(t-1) + k_t (w_t * v_t)^T,   Y = (sigmoid(X W1 W2) * norm(q_t^T S_t)) Wo
    e = sigmoid(x We) per feature of a key, w = sigmoid(x Ww) per feature of a value; a as in
    `attention.kimi_delta:KimiDelta`, q, k and v as in `attention.delta:Delta`

Hatamizadeh, Choi, Kautz 2026, "Gated DeltaNet-2: Decoupling Erase and Write in Linear Attention",
https://arxiv.org/abs/2605.22791. e = w = b, one number per head, is Kimi delta attention. e = 2 sigmoid(x We) with
`negative_eigenvalues`. The gate has no bias. As published, there is a `convolution` of 4 tokens without bias. No
cross-attention and no scores. Cost: Kimi delta attention's and two projections; the decoding state is B N H V.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array

from saccade.attention.delta import Delta
from saccade.attention.kimi_delta import KimiDelta
from saccade.ops.delta import erase_and_write, unit
from saccade.ops.linear_attention import Memory
from saccade.types import Hidden, LayerContext, Queries

__all__ = ['GatedDelta2']


class GatedDelta2(KimiDelta):
    """Gated DeltaNet-2 mixer.

    Also called: GDN-2, gated delta rule 2.

    Attributes: the attributes of KimiDelta.
    """

    example: ClassVar[dict] = Delta.example  # with full matrices

    def update_state(
        self, x: Hidden, q: Queries, k: Queries, v: Array, context: LayerContext, state: Memory
    ) -> tuple[Array, Memory]:
        """Decay, erase and write; return the heads' output [B T N V] and the new memory."""
        q, k, v = (self.activation(y.astype(jnp.float32)) for y in (q, k, v))
        erase, write = (
            self.tap(name, 'B T N H', jax.nn.sigmoid(self.to_heads(name, x, y.shape[-1]).astype(jnp.float32)))
            for name, y in (('erase', k), ('write', v))
        )
        erase = erase * (2.0 if self.negative_eigenvalues else 1.0)
        log_decay = self.log_decay(x, k.shape[-1]) if self.decay else jnp.zeros(k.shape[:3])
        return erase_and_write(unit(q), unit(k), v, erase, write, log_decay, context.numbered, state, self.chunk)
