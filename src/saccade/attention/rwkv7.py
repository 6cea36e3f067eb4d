# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""RWKV-7: a delta rule with vector-valued decay and learning rate, and separate removal and replacement keys.

    S_t = diag(w_t) S_(t-1) - (a_t * c_t) c_t^T S_(t-1) + h_t v_t^T,   Y = (g * (norm(q_t^T S_t) + (q.(p * h)) v)) Wo
    w = exp(-e^(-1/2) sigmoid(d + tanh(z W1) W2)),   a = sigmoid(e + z W3 W4),   g = sigmoid(z W5) W6
    k = z Wk,   c = unit(m * k),   h = k * (1 + (a - 1) * n),   v = u + (u_1 - u) * sigmoid(f + z W7 W8),   u = z Wv
    z_t = s * x_t + (1 - s) * x_(t-1) (token shift), with an s for each of q, k, v, w, a, g;   u_1 of the first layer

Peng et al. 2025, "RWKV-7 Goose with Expressive Dynamic State Evolution", section 4.1, https://arxiv.org/abs/2503.14456.
As published, the norm is a `merged_norm`, GroupNorm of N groups, epsilon 64e-5; the first layer has no `value_rank`;
feed-forward layers are `recurrent.mixer.channel_mixing` without a gate. Vectors are initialised with constants of the
authors' code, where d and s differ by layer and all except n and p by feature. No cross-attention, no scores, not
bidirectional. Cost: B T N (H + C) (H + V + C) and the projections, for chunks of C; the state is B (N H V + D).
"""

import math
from collections.abc import Callable
from typing import Any, ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp
from flax import struct
from jax.nn.initializers import constant
from jaxtyping import Array, Float

from saccade.attention.memory_base import FixedStateBase
from saccade.axes import parameter
from saccade.layer_paths import earlier, hand_on
from saccade.norm.layer import LayerNorm
from saccade.ops.convolution import token_before
from saccade.ops.delta import replace, unit
from saccade.ops.initializers import decay_bias
from saccade.ops.linear_attention import Memory
from saccade.types import Activation, Count, Hidden, LayerContext, Norm, Part, Queries

__all__ = ['RWKV7']


@struct.dataclass
class ShiftedState:
    """Decoding state of a mixer with a token shift; axis 0 of every leaf is the batch.

    Attributes: memory, of fixed size; newest, the previous token.
    """

    memory: Memory
    newest: Float[Array, 'B D']


class RWKV7(FixedStateBase):
    """RWKV-7 time mixing.

    Attributes: the attributes of FixedStateBase, and
        decay_rank: rank of the projection to w.
        rate_rank: rank of the projection to a.
        gate_rank: rank of the projection to g.
        value_rank: rank for the share of the first layer's values; None for no share.
        decay_init: initialiser of the bias of the decay (d).
    """

    head_norm: Part[Norm] | None = Part(LayerNorm, (('epsilon', 64e-5),))
    decay_rank: Count = 64
    rate_rank: Count = 64
    gate_rank: Count = 128
    value_rank: Count | None = 32
    decay_init: Part = Part(decay_bias)

    hands_on: ClassVar[tuple[str, ...]] = ('values',)
    example: ClassVar[dict[str, Any]] = {
        'chunk': 4,
        'value_width': 6,
        'decay_rank': 4,
        'rate_rank': 4,
        'gate_rank': 4,
        'value_rank': None,
    }

    def init_state(self, x: Hidden, capacity: int) -> ShiftedState:
        """Return the empty state, whose size does not depend on the capacity."""
        memory = self.empty_memory(x.shape[0], *self.sizes(x.shape[-1]))
        return ShiftedState(memory, jnp.zeros_like(x[:, 0]))

    @nn.compact
    def mix(
        self, x: Hidden, context: LayerContext, train: bool, state: ShiftedState | None
    ) -> tuple[Hidden, ShiftedState]:
        """Mix whole sequences if there is no state, or a chunk that follows the tokens in the state."""
        self.refuse(context)
        N, H, V = self.sizes(x.shape[-1])
        state = self.init_state(x, 0) if state is None else state
        before, newest = token_before(x, context.numbered, state.newest, state.memory.segment)

        def shifted(name: str) -> Hidden:
            share = parameter(self, f'{name}_share', 'D', constant(0.5), x.shape[-1:])
            return share * x + (1 - share) * before

        q, k = (self.projected(name, 'D -> N H', shifted(name), (N, H)) for name in ('query', 'key'))
        q, k = q.astype(jnp.float32), k.astype(jnp.float32)
        v = self._values(shifted('value'), context, V).astype(jnp.float32)
        decay = self._low_rank('decay', shifted('decay'), H, self.decay_rank, self.decay_init(), jnp.tanh)
        rate = jax.nn.sigmoid(self._low_rank('rate', shifted('rate'), H, self.rate_rank, constant(-0.19)))
        rate = self.tap('write', 'B T N H', rate)
        found = unit(k * self._vector('find', H, constant(0.71)), 1e-12)
        written = k * (1 + (rate - 1) * self._vector('write', H, constant(1.02)))
        log_decay = self.tap('log_decay', 'B T N H', -(math.e**-0.5) * jax.nn.sigmoid(decay))
        named = {'query': q, 'key': written, 'value': v}
        q, k, v = (self.tap(name, 'B T N H', each, real=context.real) for name, each in named.items())
        removed, segments = rate * found, context.numbered
        y, memory = self.shown(
            lambda _, v: replace(q, k, v, found, removed, log_decay, segments, state.memory, self.chunk), v
        )
        own = jnp.sum(q * self._vector('bonus', H, constant(-0.04)) * k, axis=-1, keepdims=True)
        y = (self.normalised(y, context) + own * v).astype(x.dtype)
        y = y * self.to_heads('gate', shifted('gate'), V, self.gate_rank, jax.nn.sigmoid)
        return self.to_output(y, x.shape[-1], context.real, train), ShiftedState(memory, newest)

    def _values(self, x: Hidden, context: LayerContext, V: int) -> Queries:
        """Return the values, mixed with the first layer's values if `value_rank` is given."""
        v = self.projected('value', 'D -> N H', x, (self.heads, V))
        first = earlier(context, 'values', v)
        hand_on(self, 'values', first)
        if self.value_rank is None:
            return v
        return v + (first - v) * jax.nn.sigmoid(self._low_rank('mixed_value', x, V, self.value_rank, constant(0.73)))

    def _low_rank(
        self,
        name: str,
        x: Hidden,
        width: int,
        rank: int,
        start: Callable[..., Array],
        activation: Activation = jax.nn.identity,
    ) -> Queries:
        """Return a vector per head: a trained vector, initialised by `start`, plus a low-rank projection of x."""
        return self._vector(name + '_bias', width, start) + self.to_heads(name, x, width, rank, activation)

    def _vector(self, name: str, width: int, start: Callable[..., Array]) -> Array:
        return parameter(self, name, 'N H', start, (self.heads, width), dtype=jnp.float32)
