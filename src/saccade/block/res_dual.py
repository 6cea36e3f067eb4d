# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""ResiDual block: two residual streams, a post-norm stream read by the branches, and the sum of the branches.

    h = norm(x + mixer(x));   y = norm(h + feedforward(h));   d' = d + mixer(x) + feedforward(h)

Xie et al. 2023, "ResiDual: Transformer with Dual Residual Connections", section 3,
https://arxiv.org/abs/2304.14802. Both streams start as the embedded tokens; the output of the last layer is
y + norm(d'). The sum avoids vanishing gradients, as in pre-norm; the post-norm stream avoids representation collapse.
As the block has its own last norm, the model's can be `NoNorm`. Added cost over post-norm: one more hidden state
between layers, and one more norm in total.
"""

from typing import ClassVar

import flax.linen as nn
import jax.numpy as jnp
from jaxtyping import Array, Float

from saccade.block.base import ResidualStreams, together
from saccade.types import Hidden, LayerContext, State

__all__ = ['ResDual']


class ResDual(ResidualStreams):
    """ResiDual block with two residual streams: the post-norm stream and the sum of the branches."""

    identity: ClassVar[bool] = False

    @property
    def count(self) -> int:
        """R = 2: the post-norm stream and the sum of the branches."""
        return 2

    @property
    def norm_places(self) -> tuple[str, ...]:
        """Places with a norm: the branches and their sum."""
        return (*self.branches, 'sum')

    def setup(self) -> None:
        """Create the norm of the summed stream, which the last block of the stack applies."""
        self.sum_norm = self.norm_of('sum')

    def reduce(self, x: Float[Array, 'B T RD']) -> Hidden:
        """Return y + norm(d): the post-norm stream plus the normalised sum."""
        y, total = self.apart(x)[..., 0, :], self.apart(x)[..., 1, :]
        return y + self.sum_norm(total)

    @nn.compact
    def mix(
        self, x: Float[Array, 'B T RD'], context: LayerContext, train: bool, state: State | None
    ) -> tuple[Float[Array, 'B T RD'], State]:
        """Run mixer and feed-forward layer on the post-norm stream, and add both outputs to the sum."""
        real = context.real
        x, total = self.apart(x)[..., 0, :], self.apart(x)[..., 1, :]
        mixed, state = self.run_mixer(x, context, train, state)
        x, total = self.norm_of('mixer')(x + mixed, real), total + mixed
        if self.feedforward is not None:
            branch = self.run_feedforward(x, context, train)
            x, total = self.norm_of('feedforward')(x + branch, real), total + branch
        return together(jnp.stack((x, total), axis=-2)), state
