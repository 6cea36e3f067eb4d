# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Gated shared expert: a feed-forward layer whose output is scaled by one gate per token.

    y_t = sigmoid(w . x_t) expert(x_t)        w [D]

Qwen Team 2024, "Qwen1.5-MoE", https://qwenlm.github.io/blog/qwen-moe/; the equation is from `Qwen2MoeSparseMoeBlock` in
transformers. There it is the `shared` expert of a mixture; it can also be a block's feed-forward layer. It does not
save compute: the expert runs even if the gate is near 0. Cost: that of the expert plus T D.
"""

from typing import ClassVar

import flax.linen as nn
import jax

from saccade.axes import parameter
from saccade.module import Transform
from saccade.ops.project import project
from saccade.types import FeedForward, Hidden, Part, Real

__all__ = ['TokenGated']


class TokenGated(Transform):
    """Feed-forward layer with one gate per token. Attributes: expert to be gated; gate_init, the initialiser of w."""

    expert: Part[FeedForward]
    gate_init: Part = Part(nn.initializers.lecun_normal)
    example: ClassVar[dict] = {'expert': {'use': 'feedforward.mlp:MLP', 'activation': {'use': 'jax.nn:gelu'}}}

    @nn.compact
    def __call__(self, x: Hidden, train: bool = False, real: Real | None = None) -> Hidden:
        gate = project(x, parameter(self, 'gate', 'D -> X', self.gate_init(), (x.shape[-1], 1)))
        return jax.nn.sigmoid(gate) * self.expert(name='expert')(x, train, real)
