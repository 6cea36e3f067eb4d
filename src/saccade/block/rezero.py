# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""ReZero block: each branch is multiplied by a trained scalar, initialised to zero.

    h = x + a mixer(x);   y = h + a feedforward(h)        one scalar a per layer

Bachlechner et al. 2020, "ReZero is All You Need: Fast Convergence at Large Depth", section 3,
https://arxiv.org/abs/2003.04887. At initialisation it is the identity at any depth; norm and warm-up are not needed.
The branches share a, as in the authors' code; with `shared` False each has its own. A norm, if set (the paper has
none), is inside the branch. In the first step only a has a nonzero gradient.
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

    Attributes: shared, whether the branches share one scalar.
    """

    identity: ClassVar[bool] = True

    norm: Part[Norm] = Part(NoNorm)
    shared: bool = True

    def after(self, branch: str, x: Hidden, y: Hidden, real: Real | None) -> Hidden:
        """Return x + a y, with a trained scalar a that starts at zero: one, or one per branch."""
        name = 'branch_scale' if self.shared else f'{branch}_scale'
        return x + parameter(self, name, '', nn.initializers.zeros, ()) * y
