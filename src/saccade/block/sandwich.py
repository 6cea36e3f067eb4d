# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sandwich block: a norm before each branch and another after it, inside the residual connection.

    h = x + norm'(mixer(norm(x)));   y = h + norm'(feedforward(norm(h)))

Ding et al. 2021, "CogView", section 2.4 (Sandwich-LN), https://arxiv.org/abs/2105.13290; Gemma 2, 2024,
https://arxiv.org/abs/2408.00118. The block of Kim et al. 2025, "Peri-LN", https://arxiv.org/abs/2502.02732 is the
same: its norm of the embeddings is optional, and the norm after the last block is the model's. With `NoNorm` as
norm' it is pre-norm; with `NoNorm` as norm and a norm' it is the block of Swin v2 (https://arxiv.org/abs/2111.09883)
and OLMo 2. The outputs of all branches have the same size, so the hidden state grows as sqrt(L). Cost: two more norms.
"""

from typing import ClassVar

from saccade.block.base import SequentialBlock
from saccade.types import Hidden, Norm, Part, Real

__all__ = ['Sandwich']


class Sandwich(SequentialBlock):
    """Sandwich block.

    Attributes: output_norm, norm'; None for `norm`.
    """

    identity: ClassVar[bool] = True

    output_norm: Part[Norm] | None = None

    @property
    def norm_places(self) -> tuple[str, ...]:
        """Places with a norm: the input and the output of each branch."""
        return (*self.branches, *(f'{branch}_output' for branch in self.branches))

    def after(self, branch: str, x: Hidden, y: Hidden, real: Real | None) -> Hidden:
        """Return x + norm'(y)."""
        return x + self.norm_of(f'{branch}_output', self.output_norm)(y, real)
