# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""TTT-Linear: the memory is a linear model per head, trained by gradient descent on the sequence (test-time training).

    head = norm(f(q_t; W_t)),   f(x; W) = x + layer_norm([x 1] W),   l_s(W) = |f(k_s; W) - v_s|^2 / 2
    W_t = W' - c_i sum over s <= t of the mini-batch of  r_s dl_s(W')/dW,   t the i-th token of its mini-batch of M
    r = e sigmoid(x Wr + b) / H,   c_i = max(1/i + p_i, 0);   q, k rotated by their places in the mini-batch

Sun et al. 2024, "Learning to (Learn at Test Time): RNNs with Expressive Hidden States", sections 2.3 to 2.7,
https://arxiv.org/abs/2407.04620. W' is W after the mini-batch before; W of a document's start, norm, b and p are
trained. c, the 1/2, the rotations and the division by H are of the authors' code (ttt-lm-jax). Their Transformer
backbone is the default; their Mamba backbone has a `gate`, `jax.nn:gelu`, and a `convolution`, whose taps of values and
separate Wq and Wk are ours. No cross-attention, no scores. Cost: B T N H (H + C), for chunks of C <= M; state B N H^2.
"""

import dataclasses
from typing import ClassVar

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array

from saccade.attention.memory_base import FixedState, FixedStateBase
from saccade.axes import parameter
from saccade.norm.layer import LayerNorm
from saccade.ops.fast_weights import FastWeights, MiniBatches, Start, train_and_read
from saccade.position.rotary import Rotary
from saccade.types import (
    Capabilities,
    Count,
    Hidden,
    LayerContext,
    Norm,
    PairPosition,
    Part,
    Positive,
    Queries,
    UserError,
    refuse_terms,
)

__all__ = ['TTTLinear']


class TTTLinear(FixedState):
    """TTT-Linear mixer.

    Also called: test-time training layer.

    Attributes: the attributes of FixedState, where value_width is H; mini_batch, M in tokens; rate, the learning rate e
        of the inner training; position of q and k; weights_init, the initialiser of W.
    """

    merged_norm: Part[Norm] | None = Part(LayerNorm, (('epsilon', 1e-6),))
    mini_batch: Count = 16
    rate: Positive = 1.0
    position: Part[PairPosition] = Part(Rotary)
    weights_init: Part = Part(nn.initializers.normal, (('stddev', 0.02),))

    capabilities: ClassVar[Capabilities] = dataclasses.replace(
        FixedStateBase.capabilities, time='B T N H^2', state='N H^2'
    )
    example: ClassVar[dict] = {'chunk': 4, 'mini_batch': 4}

    def sizes(self, D: int) -> tuple[int, int, int]:
        """Return N, H and H at width D.

        Raises:
            UserError: the sizes do not go together, or values differ from keys in width.
        """
        N, H, V = super().sizes(D)
        if V != H:
            raise UserError(f'{Part(type(self)).name}: value_width must be the width of keys, {H}, not {V}')
        return N, H, V

    def empty_memory(self, batch: int, heads: int, width: int, value_width: int) -> FastWeights:
        """Return the state before the first token."""
        return FastWeights.empty(batch, heads, width)

    def update_state(
        self, x: Hidden, q: Queries, k: Queries, v: Array, context: LayerContext, state: FastWeights
    ) -> tuple[Array, FastWeights]:
        """Train on the tokens and apply the models; return the heads' output [B T N H] and the new state.

        Raises:
            UserError: the position scheme has score terms.
        """
        N, H = q.shape[-2:]
        batches = MiniBatches.of(context.numbered, state, self.mini_batch)
        position = self.position(name='position')
        refuse_terms(Part(type(self)).name, position.terms(N))
        q, k = position.rotate(q.astype(jnp.float32), k.astype(jnp.float32), batches.place, batches.place)
        weights = self._float32('weights', 'N H H', self.weights_init(), N, H, H)
        bias, scale, shift = (
            self._float32(name, 'N H', init, N, H)
            for name, init in (
                ('weights_bias', nn.initializers.zeros),
                ('norm_scale', nn.initializers.ones),
                ('norm_bias', nn.initializers.zeros),
            )
        )
        start = Start(jnp.concatenate([weights, bias[:, None]], axis=1), scale, shift)
        logits = self.scalars('rate', x) + self._float32('rate_bias', 'N', nn.initializers.zeros, N)
        rate = self.tap('write', 'B T N', self.rate / H * jax.nn.sigmoid(logits))
        places = self._float32('place_bias', 'X', nn.initializers.zeros, self.mini_batch)
        factors = jnp.maximum(1 / jnp.arange(1, self.mini_batch + 1) + places, 0)
        v = v.astype(jnp.float32)
        return train_and_read(q, k, v, rate, factors, start, batches, context.numbered, state, self.chunk)

    def _float32(self, name: str, axes: str, init: nn.initializers.Initializer, *shape: int) -> Array:
        return parameter(self, name, axes, init, shape, decays=name == 'weights', dtype=jnp.float32)
