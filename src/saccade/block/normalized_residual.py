# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""nGPT block: hidden states of norm 1, which each branch moves towards its own output.

    h = unit(x + |a| (unit(mixer(x)) - unit(x)));   y = unit(h + |a'| (unit(feedforward(h)) - h))        a, a' [D]

Loshchilov, Hsieh, Sun, Ginsburg 2024, "nGPT: Normalized Transformer with Representation Learning on the Hypersphere",
section 2.2, https://arxiv.org/abs/2410.01131; x on the right means unit(x), as in the authors' code. The trained
vectors a are the eigen learning rates. nGPT has no other norms; a `norm`, if set, is applied before the branch. The
other parts of nGPT are `attention.normalized_heads:NormalizedHeads`, `feedforward.rescaled_gated:RescaledGated`, the
decoder's `logit_gain` and `train.unit_vectors:UnitVectors`: see experiments/causal_lm/ngpt_tiny.py. Cost: 3 T D per
branch.
"""

from typing import ClassVar

import jax.numpy as jnp

from saccade.block.base import SequentialBlock
from saccade.gain import Gain
from saccade.norm.none import NoNorm
from saccade.ops.similarity import normalised
from saccade.types import Hidden, Norm, Part, Real

__all__ = ['NormalizedResidual']


class NormalizedResidual(SequentialBlock):
    """nGPT block.

    Attributes: rate, the initial eigen learning rate of each branch; 0.05, of the order of 1 / L, in the paper.
    """

    identity: ClassVar[bool] = False

    norm: Part[Norm] = Part(NoNorm)
    rate: Part[Gain] = Part(Gain, (('start', 0.05),))

    def after(self, branch: str, x: Hidden, y: Hidden, real: Real | None) -> Hidden:
        """Return x moved towards y, normalised to norm 1."""
        D = x.shape[-1]
        rate = jnp.abs(self.rate()(self, f'{branch}_rate', 'D', (D,), D).astype(jnp.float32))
        start = normalised(x)
        return normalised(start + rate * (normalised(y) - start)).astype(x.dtype)
