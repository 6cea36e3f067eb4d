# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""ReZero block: what a branch adds is multiplied by a trained number that starts from zero.

    h = x + a mixer(x);   y = h + a feedforward(h)        a one number a layer

Bachlechner et al. 2020, "ReZero is All You Need: Fast Convergence at Large Depth", section 3,
https://arxiv.org/abs/2003.04887. It starts as the identity at any depth, and needs no norm and no warm-up. Both
branches share a, as in the authors' code; with `shared` off each has its own. A norm, none in the paper, stands
inside the branch. In the first step nothing but a has a gradient.
"""

from typing import Any, ClassVar

import flax.linen as nn

from saccade.block.base import Mix, Wiring
from saccade.norm.none import NoNorm
from saccade.types import Hidden, Norm, Part


class ReZero(Wiring):
    """Attributes: whether both branches share one number."""

    identity: ClassVar[bool] = True

    norm: Part[Norm] = Part(NoNorm)
    shared: bool = True

    @nn.compact
    def wire(self, x: Hidden, train: bool, mix: Mix) -> tuple[Hidden, Any]:
        names = ('branch_scale',) if self.shared else ('mixer_scale', 'feedforward_scale')
        scales = [self.param(name, nn.initializers.zeros, ()) for name in names]
        mixed, state = mix(self.mixer(name='mixer'), self.norm(name='mixer_norm')(x))
        x = x + scales[0] * mixed
        branch = self.feedforward(name='feedforward')(self.norm(name='feedforward_norm')(x), train)
        return x + scales[-1] * branch, state
