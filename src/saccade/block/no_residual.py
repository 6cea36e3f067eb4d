# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Pre-norm block without residual connections, for ablations.

    h = mixer(norm(x));   y = feedforward(norm(h))

Dong, Cordonnier, Loukas 2021, "Attention is not all you need: pure attention loses rank doubly exponentially with
depth", https://arxiv.org/abs/2103.03404; the omitted connections are from He et al. 2016,
https://arxiv.org/abs/1512.03385. The gradient reaches x only through the weights, so deep stacks hardly learn.
"""

from typing import ClassVar

from saccade.block.base import SequentialBlock
from saccade.types import Hidden, Real

__all__ = ['NoResidual']


class NoResidual(SequentialBlock):
    """Pre-norm block without residual connections."""

    identity: ClassVar[bool] = False

    def after(self, branch: str, x: Hidden, y: Hidden, real: Real | None) -> Hidden:
        """Return y: x is not added."""
        return y
