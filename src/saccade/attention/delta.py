# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""DeltaNet and Gated DeltaNet: linear attention that subtracts a key's old value before it adds the new one.

    S_t = a_t (I - b_t k_t k_t^T) S_(t-1) + b_t k_t v_t^T,  head = norm(q_t^T S_t),  Y = (gate(X Wg) * head) Wo
    q, k = unit(silu(x Wq)), unit(silu(x Wk)),  v = silu(x Wv),  b = sigmoid(x Wb),  a = exp(-e^r softplus(x Wa + c))

Yang et al. 2024, "Parallelizing Linear Transformers with the Delta Rule over Sequence Length" (a = 1, no gate),
https://arxiv.org/abs/2406.06484; "Gated Delta Networks", equation 10 and figure 1 (`decay`, a SiLU gate),
https://arxiv.org/abs/2412.06464; both with a `convolution`. b = 2 sigmoid(x Wb) with `negative_eigenvalues`: Grazzi et
al. 2024, "Unlocking State-Tracking in Linear RNNs", https://arxiv.org/abs/2411.12537. No cross-attention and no scores.
Cost: B T N (H + C) (H + V + C) and the projections, for chunks of C; the decoding state is B N H V.
"""

from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array

from saccade.attention.memory_base import FixedState
from saccade.axes import parameter
from saccade.norm.rms import RMSNorm
from saccade.ops.delta import correct, unit
from saccade.ops.initializers import log_rate, step_bias
from saccade.ops.linear_attention import Memory
from saccade.types import Hidden, LayerContext, Norm, Part, Queries

__all__ = ['Delta']


class Delta(FixedState):
    """DeltaNet and Gated DeltaNet mixer.

    Attributes: the attributes of FixedState; decay, use a decay (a < 1); negative_eigenvalues, b up to 2, so that the
    eigenvalues of I - b k k^T go down to -1; activation of q, k, v; rate_init, initialiser of the log decay rate (r);
    step_init, initialiser of the bias of the step size (c).
    """

    head_norm: Part[Norm] | None = Part(RMSNorm)
    decay: bool = True
    negative_eigenvalues: bool = False
    activation: Part = Part(jax.nn.silu)
    rate_init: Part = Part(log_rate)
    step_init: Part = Part(step_bias)

    example: ClassVar[dict] = {
        'chunk': 4,
        'value_width': 6,
        'key_heads': 2,
        'activation': {'use': 'jax.nn:silu'},
        'convolution': {'use': 'recurrent.mixer.convolution:Convolution', 'size': 4, 'depthwise': True},
    }

    def update_state(
        self, x: Hidden, q: Queries, k: Queries, v: Array, context: LayerContext, state: Memory
    ) -> tuple[Array, Memory]:
        """Apply the delta rule, gated if `decay` is set; return the heads' output [B T N V] and the new memory."""
        q, k, v = (self.activation(y.astype(jnp.float32)) for y in (q, k, v))
        write = self.write_shares(x)
        log_decay = self.log_decay(x, k.shape[-1]) if self.decay else jnp.zeros_like(write)
        return correct(unit(q), unit(k), v, write, log_decay, context.numbered, state, self.chunk)

    def write_shares(self, x: Hidden, copies: int = 1) -> Array:
        """Return b, `copies` per head [B T N]. Called in a compact method."""
        shares = jax.nn.sigmoid(self.scalars('write', x, copies)) * (2.0 if self.negative_eigenvalues else 1.0)
        return self.tap('write', 'B T N', shares)

    def log_decay(self, x: Hidden, width: int) -> Array:
        """Return log a per head [B T N], or per feature [B T N width]. Called in a compact method."""
        rate = parameter(self, 'log_rate', 'N', self.rate_init(), (self.heads,), dtype=jnp.float32)
        bias = parameter(self, 'step_bias', 'N', self.step_init(), (self.heads,), dtype=jnp.float32)
        return self.tap('log_decay', 'B T N', -jnp.exp(rate) * jax.nn.softplus(self.scalars('step', x) + bias))
