# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""mLSTM (of xLSTM): an LSTM with a matrix memory and an exponential input gate; a gated linear attention.

    S_t = f_t S_(t-1) + i_t k_t v_t^T,   n_t = f_t n_(t-1) + i_t k_t,   head = q_t^T S_t / max(|q_t^T n_t|, 1)
    i_t = exp(x_t Wi + a),   f_t = sigmoid(x_t Wf + c),   Y = (sigmoid(X Wg) * norm(head)) Wo,   q scaled by 1 / sqrt(H)

Beck et al. 2024, "xLSTM: Extended Long Short-Term Memory", equations 19 to 27, https://arxiv.org/abs/2405.04517; with
`gate_cap`, x W + bias of both gates is m tanh(. / m), m = 15: Beck et al. 2025, "xLSTM 7B", section 3,
https://arxiv.org/abs/2503.13427, whose layer this is. The memory is stabilised by its largest gate, so gates of any
size are exact. No cross-attention and no scores. Cost: B T N H (V + C) and the projections, for chunks of C; the
decoding state is B N H V.
"""

from typing import ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array

from saccade.attention.memory_base import FixedState
from saccade.axes import parameter
from saccade.norm.layer import LayerNorm
from saccade.ops.linear_attention import LogScaledState, exponential_gates
from saccade.types import Hidden, LayerContext, Norm, Part, Positive, Queries

__all__ = ['MLSTM']


class MLSTM(FixedState):
    """mLSTM mixer.

    Attributes: the attributes of FixedState; gate_cap (m), None for no cap; input_init, initialiser
    of the input gate's bias (a); forget_init, initialiser of the forget gate's bias (c).
    """

    head_norm: Part[Norm] | None = Part(LayerNorm, (('bias', False),))
    gate: Part | None = Part(jax.nn.sigmoid)
    gate_cap: Positive | None = None
    input_init: Part = Part(nn.initializers.constant, (('value', -10.0),))
    forget_init: Part = Part(nn.initializers.constant, (('value', 4.0),))

    example: ClassVar[dict] = {'chunk': 4, 'value_width': 6, 'gate_cap': 15.0}

    def empty_memory(self, batch: int, heads: int, width: int, value_width: int) -> LogScaledState:
        """Return the memory before the first token; n is an additional column of the values."""
        return LogScaledState.empty(batch, heads, width, value_width + 1)

    def update_state(
        self, x: Hidden, q: Queries, k: Queries, v: Array, context: LayerContext, state: LogScaledState
    ) -> tuple[Array, LogScaledState]:
        """Apply the gated update; return the heads' output [B T N V] and the new memory."""
        gain = self.tap('log_write', 'B T N', self._gate_logits('input_gate', x, self.input_init))
        forget = jax.nn.log_sigmoid(self._gate_logits('forget_gate', x, self.forget_init))
        log_decay = self.tap('log_decay', 'B T N', forget)
        q = q.astype(jnp.float32) * q.shape[-1] ** -0.5
        return exponential_gates(q, k, v, gain, log_decay, context.numbered, state, self.chunk)

    def _gate_logits(self, name: str, x: Hidden, init: Part) -> Array:
        logits = self.scalars(name, x) + parameter(self, f'{name}_bias', 'N', init(), (self.heads,))
        return logits if self.gate_cap is None else self.gate_cap * jnp.tanh(logits / self.gate_cap)
