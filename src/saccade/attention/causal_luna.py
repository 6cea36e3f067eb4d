# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Causal Luna: each token attends to M slots that have gathered the tokens so far.

    a_t = softplus(k'_t P^T),   w_t = softmax(1/t sum over j <= t of (q_t.k_j) a_j),   y_t = 1/t sum of (w_t.a_j) v_j
    heads y_t, concatenated, times Wo;   k' = x Ws, q = x Wq / sqrt(H), k = x Wk, v = x Wv per head

Ma et al. 2021, "Luna: Linear Unified Nested Attention", section 3.3, https://arxiv.org/abs/2106.01540
Both sums are linear attention: (q, k, a) without decay, then (w, a, v); t counts the tokens of the document. As in the
authors' code, softplus(z) is log2(1 + 2^z). P [M H] per head is trained; theirs comes from an encoder, or is a
parameter that a matrix projects. Their keys and values are one projection, with a bias. The paper's non-causal form is
`attention.luna`. No cross-attention and no scores. Cost: B T N M (H + V) and the projections; the decoding state is
B N M (H + V).
"""

import dataclasses
import math
from typing import ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array

from saccade.attention.memory_base import FixedState, FixedStateBase
from saccade.axes import parameter
from saccade.ops.linear_attention import Memory, retain
from saccade.types import Capabilities, Count, Hidden, LayerContext, Part, Queries

__all__ = ['CausalLuna']


@struct.dataclass
class LunaMemory:
    """Decoding state: keys, sums of k a^T; values, sums of a v^T; count, the number of tokens summed."""

    keys: Memory
    values: Memory
    count: Memory


class CausalLuna(FixedState):
    """Causal Luna attention.

    Attributes: the attributes of FixedState; slots (M); slots_init, the initialiser of P.
    """

    slots: Count
    slots_init: Part = Part(nn.initializers.normal, (('stddev', 0.02),))

    capabilities: ClassVar[Capabilities] = dataclasses.replace(
        FixedStateBase.capabilities, time='B T N M (H + V)', memory='B T N (M + V)', state='N M H + N M V'
    )
    example: ClassVar[dict] = {'chunk': 4, 'value_width': 6, 'slots': 5}

    def empty_memory(self, batch: int, heads: int, width: int, value_width: int) -> LunaMemory:
        """Return the sums before the first token."""
        return LunaMemory(
            Memory.empty(batch, heads, width, self.slots),
            Memory.empty(batch, heads, self.slots, value_width),
            Memory.empty(batch, 1, 1, 1),
        )

    def update_state(
        self, x: Hidden, q: Queries, k: Queries, v: Array, context: LayerContext, state: LunaMemory
    ) -> tuple[Array, LunaMemory]:
        """Gather the tokens in the slots and read them; return the heads' output [B T N V] and the new memory."""
        N, H = q.shape[-2:]
        q, k, v = (y.astype(jnp.float32) for y in (q, k, v))
        scale = H**-0.5
        slots = parameter(self, 'slots', 'M N H', self.slots_init(), (self.slots, N, H), decays=True, dtype=jnp.float32)
        products = jnp.einsum('BTNH,MNH->BTNM', self.to_heads('pack_key', x, H).astype(jnp.float32), scale * slots)
        gathered = self.tap('gathered', 'B T N M', jax.nn.softplus(math.log(2) * products) / math.log(2))

        def total(q: Array, k: Array, v: Array, memory: Memory) -> tuple[Array, Memory]:
            return retain(q, k, v, jnp.zeros(k.shape[:3]), context.numbered, memory, self.chunk)

        one = jnp.ones((*x.shape[:2], 1, 1))
        count, counted = total(one, one, one, state.count)
        count = jnp.maximum(count, 1)  # padding has none
        scores, keys = total(scale * q, k, gathered, state.keys)
        weights = self.tap('weights', 'B T N M', jax.nn.softmax(scores / count, axis=-1))
        y, values = total(weights, gathered, v, state.values)
        return y / count, LunaMemory(keys, values, counted)
