# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Macaron block: a feed-forward layer with half weight before the mixer, and another after it.

    a = x + 1/2 feedforward'(norm(x));   b = a + mixer(norm(a));   y = b + 1/2 feedforward(norm(b))

Lu et al. 2019, "Understanding and Improving Transformer From a Multi-Particle Dynamic System Point of View",
https://arxiv.org/abs/1906.02762: Strang splitting instead of Lie-Trotter splitting. The norms are placed as in the
Conformer (Gulati et al. 2020, https://arxiv.org/abs/2005.08100), without its convolution and its last norm. The two
feed-forward layers have separate weights: at half the usual width they cost as much as one.
"""

from typing import ClassVar

import flax.linen as nn

from saccade.block.base import BlockBase
from saccade.types import FeedForward, Hidden, LayerContext, Part, State

__all__ = ['Macaron']


class Macaron(BlockBase):
    """Macaron block: a half-step feed-forward layer before the mixer, and another after it."""

    identity: ClassVar[bool] = True

    feedforward: Part[FeedForward]

    @property
    def branches(self) -> tuple[str, ...]:
        """The names of the branches, in order."""
        return ('first_feedforward', 'mixer', 'feedforward')

    @nn.compact
    def mix(self, x: Hidden, context: LayerContext, train: bool, state: State | None) -> tuple[Hidden, State]:
        """Run the first half-step feed-forward layer, the mixer, and the second half-step feed-forward layer."""
        real = context.real
        first = self.feedforward(name='first_feedforward')(self.norm_of('first_feedforward')(x, real), train, real)
        x = x + 0.5 * self.tap('first_feedforward_output', 'B T D', first, real=real)
        mixed, state = self.run_mixer(self.norm_of('mixer')(x, real), context, train, state)
        x = self.tap('residual_after_mixer', 'B T D', x + mixed, real=real)
        return x + 0.5 * self.run_feedforward(self.norm_of('feedforward')(x, real), context, train), state
