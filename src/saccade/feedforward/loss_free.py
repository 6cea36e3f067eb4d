# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Loss-free load balancing: token choice by score plus a bias, which decreases for experts above the mean load.

    chosen = top_A(s + b),  gates from s;   after each step  b_i = b_i - u sign(load_i - mean load)

Wang et al. 2024, "Auxiliary-Loss-Free Load Balancing Strategy for Mixture-of-Experts", equation 3 and algorithm 1,
https://arxiv.org/abs/2408.15664; used by DeepSeek-V3 (2024), https://arxiv.org/abs/2412.19437
b is a statistic (`ops.statistic`): it changes by u per step, independent of the optimizer and its learning rate. Under
`accumulate` and `pmap` the changes of microbatches and devices are averaged.
"""

from typing import ClassVar

import flax.linen as nn
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from saccade.axes import parameter
from saccade.feedforward.token_choice import TokenChoice
from saccade.ops.padding import of_tokens
from saccade.ops.routing import load
from saccade.ops.statistic import move
from saccade.types import NotNegative, Positive

__all__ = ['LossFree']


class LossFree(TokenChoice):
    """Token-choice router with loss-free load balancing.

    Attributes: rate u, 0.001 in section 4.1; balance, 0 in the paper; the other attributes of `TokenChoice`.
    """

    balance: NotNegative = 0.0
    rate: Positive = 0.001
    example: ClassVar[dict] = {'score': {'use': 'jax.nn:sigmoid'}, 'renormalised': True}

    def choose(self, scores: Float[Array, 'T E'], active: int, real: Bool[Array, 'T']) -> Int[Array, 'T A']:
        """Return the A experts of highest score plus bias, [T A], and report the update of the bias."""
        E = scores.shape[-1]
        bias = parameter(self, 'balance_bias', 'X', nn.initializers.zeros, (E,), dtype=jnp.float32)
        expert = super().choose(scores + bias, active, real)
        share = load(expert, E, real)
        self.sow('losses', 'pull', of_tokens(move(bias, bias - self.rate * jnp.sign(share - share.mean())), real))
        return expert
