# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Gated shared expert: a feed-forward layer whose output each token scales by one number of its own.

    y_t = sigmoid(w . x_t) expert(x_t)        w [D]

Qwen Team 2024, "Qwen1.5-MoE", https://qwenlm.github.io/blog/qwen-moe/; the equation is of `Qwen2MoeSparseMoeBlock` in
transformers. It is there as the `shared` expert of a mixture: how much of it a token takes is learned. It can be any
feed-forward layer of a block too. It does not spare compute: the expert runs at gates near 0 as well. Cost: the
expert's, and T D.
"""

from typing import ClassVar

import flax.linen as nn
import jax

from saccade.axes import parameter
from saccade.ops.project import project
from saccade.types import FeedForward, Hidden, Part, Real

__all__ = ['TokenGated']


class TokenGated(nn.Module):
    """Feed-forward layer with a gate of each token. Attributes: expert that is gated; gate_init of w."""

    expert: Part[FeedForward]
    gate_init: Part = Part(nn.initializers.lecun_normal)
    example: ClassVar[dict] = {'expert': {'use': 'feedforward.mlp:MLP', 'activation': {'use': 'jax.nn:gelu'}}}

    @nn.compact
    def __call__(self, x: Hidden, train: bool, real: Real | None = None) -> Hidden:
        gate = project(x, parameter(self, 'gate', 'D -> X', self.gate_init(), (x.shape[-1], 1)))
        return jax.nn.sigmoid(gate) * self.expert(name='expert')(x, train, real)
