# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""ReZero block: each branch is multiplied by a trained number that starts from zero.

    h = x + a mixer(x);   y = h + a feedforward(h)        a one number a layer

Bachlechner et al. 2020, "ReZero is All You Need: Fast Convergence at Large Depth", section 3,
https://arxiv.org/abs/2003.04887. It starts as the identity at any depth, and needs no norm and no warm-up. The
branches share a, as in the authors' code; with `shared` off each has its own. A norm, none in the paper, stands
inside the branch. In the first step nothing but a has a gradient.
"""

from typing import ClassVar

import flax.linen as nn

from saccade.axes import parameter
from saccade.block.base import SequentialBlock
from saccade.norm.none import NoNorm
from saccade.types import Hidden, Norm, Part, Real

__all__ = ['ReZero']


class ReZero(SequentialBlock):
    """ReZero block.

    Attributes: shared, whether the branches share one number.
    """

    identity: ClassVar[bool] = True

    norm: Part[Norm] = Part(NoNorm)
    shared: bool = True

    def setup(self) -> None:
        """Make the trained factors, which start from zero: one, or one for each branch."""
        names = ('branch_scale',) if self.shared else tuple(f'{branch}_scale' for branch in self.branches)
        self.scales = {name: parameter(self, name, '', nn.initializers.zeros, ()) for name in names}

    def after(self, branch: str, x: Hidden, y: Hidden, real: Real | None) -> Hidden:
        """Return x + a y, with a trained number a."""
        return x + self.scales['branch_scale' if self.shared else f'{branch}_scale'] * y
