# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Parallel block: mixer and feed-forward layer take the same input, and both outputs are added to it.

    y = x + mixer(norm(x)) + feedforward(norm(x))

Wang, Komatsuzaki 2021, GPT-J, https://github.com/kingoflolz/mesh-transformer-jax; Chowdhery et al. 2022, "PaLM",
section 2, https://arxiv.org/abs/2204.02311. The matrix multiplications of both branches can be fused. With
`shared_norm` False each branch has a norm of its own, as in GPT-NeoX (Black et al. 2022,
https://arxiv.org/abs/2204.06745). The feed-forward layer reads the mixer's output one layer later than in a sequential
block.
"""

from typing import ClassVar

import flax.linen as nn

from saccade.block.base import BlockBase
from saccade.types import FeedForward, Hidden, LayerContext, Norm, Part, State, UserError

__all__ = ['Parallel']


class Parallel(BlockBase):
    """Parallel block.

    Attributes: shared_norm, whether both branches share one norm.
    """

    identity: ClassVar[bool] = True

    feedforward: Part[FeedForward]
    shared_norm: bool = True

    @nn.compact
    def mix(self, x: Hidden, context: LayerContext, train: bool, state: State | None) -> tuple[Hidden, State]:
        """Run mixer and feed-forward layer on the same normalised input, and add both outputs to x.

        Raises:
            UserError: `norms` is set although the branches share one norm.
        """
        normed = [norm(x, context.real) for norm in self._norms()]
        mixed, state = self.run_mixer(normed[0], context, train, state)
        return x + mixed + self.run_feedforward(normed[-1], context, train), state

    def _norms(self) -> tuple[Norm, ...]:
        if not self.shared_norm:
            return self.norm_of('mixer'), self.norm_of('feedforward')
        if self.norms:
            raise UserError('block.parallel:Parallel: norms: both branches share one norm; set shared_norm to False')
        return (self.norm(name='norm'),)
