# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Post-norm block, the original order: the norm follows the residual addition.

    h = norm(x + mixer(x));   y = norm(h + feedforward(h))

Vaswani et al. 2017, "Attention Is All You Need", section 3.1, https://arxiv.org/abs/1706.03762
It is not the identity even with zero branches; deep stacks need a warm-up of the learning rate.
"""

from typing import ClassVar

from saccade.block.base import SequentialBlock
from saccade.types import Hidden, Real

__all__ = ['PostNorm']


class PostNorm(SequentialBlock):
    """Post-norm block: the norm follows the residual addition."""

    identity: ClassVar[bool] = False

    def before(self, branch: str, x: Hidden, real: Real | None) -> Hidden:
        """Return x unchanged: the norm follows the residual addition."""
        return x

    def after(self, branch: str, x: Hidden, y: Hidden, real: Real | None) -> Hidden:
        """Return norm(x + y)."""
        return self.norm_of(branch)(x + y, real)
