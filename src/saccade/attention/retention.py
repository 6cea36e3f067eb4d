# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Multi-scale retention (RetNet): linear attention without a normaliser, with one decay rate per head.

    S_t = gamma_n S_(t-1) + k_t v_t^T,  head_n = norm(q_t^T S_t),  gamma_n = 1 - 2^(-5-n), n from 0
    Y = (gate(X Wg) * head) Wo,  with q, k rotated by their positions, k scaled by 1 / sqrt(H)

Sun et al. 2023, "Retentive Network: A Successor to Transformer for Large Language Models", equations 5 to 8,
https://arxiv.org/abs/2307.08621; in the paper a head has values of width V = 2 H (section 3.1). The norm of each head
is the paper's group norm; it is invariant to the scale of a row, so ours leaves out the normalisation of the scores,
which
is for low precision: sums are in float32. It is causal, without cross-attention and scores. Cost: B T N H V
and the projections; the decoding state is B N H V for any capacity.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from saccade.attention.memory_base import FixedState
from saccade.norm.layer import LayerNorm
from saccade.ops.linear_attention import Memory, retain
from saccade.position.rotary import Rotary
from saccade.types import Hidden, LayerContext, Norm, PairPosition, Part, Queries, UserError, refuse_terms

__all__ = ['Retention']


class Retention(FixedState):
    """Multi-scale retention mixer (RetNet).

    Attributes: the attributes of FixedState; rates, gamma of each head, None for the paper's; position of queries,
        keys.
    """

    head_norm: Part[Norm] | None = Part(LayerNorm, (('bias', False), ('scale', False)))
    gate: Part | None = Part(jax.nn.silu)
    rates: tuple[float, ...] | None = None
    position: Part[PairPosition] = Part(Rotary)

    example: ClassVar[dict] = {'chunk': 4, 'value_width': 8}

    def update_state(
        self, x: Hidden, q: Queries, k: Queries, v: Array, context: LayerContext, state: Memory
    ) -> tuple[Array, Memory]:
        """Rotate q and k, and decay each head's memory at its rate; return the output [B T N V] and the new memory.

        Raises:
            UserError: the position scheme has score terms, or `rates` do not match the heads.
        """
        position = self.position(name='position')
        refuse_terms('attention.retention:Retention', position.terms(self.heads))
        q, k = position.rotate(q, k, context.positions, context.positions)
        log_decay = jnp.broadcast_to(jnp.log(self._rates()), k.shape[:3])
        return retain(q, k.astype(jnp.float32) * k.shape[-1] ** -0.5, v, log_decay, context.numbered, state, self.chunk)

    def _rates(self) -> Array:
        rates = 1 - 2.0 ** (-5 - np.arange(self.heads)) if self.rates is None else np.array(self.rates)
        if rates.shape != (self.heads,) or not ((rates > 0) & (rates <= 1)).all():
            raise UserError(
                f'attention.retention:Retention: rates must be {self.heads}, above 0 and at most 1, not {self.rates}'
            )
        return jnp.asarray(rates, jnp.float32)
