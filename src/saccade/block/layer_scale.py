# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""LayerScale block: pre-norm, with each branch multiplied by a trained vector with small initial values.

    h = x + scale * mixer(norm(x));   y = h + scale' * feedforward(norm(h))        scale, scale' [D]

Touvron et al. 2021, "Going deeper with Image Transformers" (CaiT), equation 4, https://arxiv.org/abs/2103.17239
In the paper `start` is 0.1 up to 18 layers, 1e-5 up to 24, and 1e-6 beyond. After training the vectors can be
multiplied into the branches' last kernels.
"""

from typing import ClassVar

import flax.linen as nn

from saccade.axes import parameter
from saccade.block.base import SequentialBlock
from saccade.types import Hidden, Real

__all__ = ['LayerScale']


class LayerScale(SequentialBlock):
    """LayerScale block.

    Attributes: start, the initial value of every element of the scales.
    """

    identity: ClassVar[bool] = True
    example: ClassVar[dict] = {'start': 0.1}

    start: float

    def after(self, branch: str, x: Hidden, y: Hidden, real: Real | None) -> Hidden:
        """Return x + scale * y, with a trained scale [D] for each branch."""
        return x + parameter(self, f'{branch}_scale', 'D', nn.initializers.constant(self.start), x.shape[-1:]) * y
