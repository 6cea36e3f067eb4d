# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Layer-scale block: pre-norm, and what a branch adds is multiplied by a trained vector that starts small.

    h = x + scale * mixer(norm(x));   y = h + scale' * feedforward(norm(h))        scale, scale' [D]

Touvron et al. 2021, "Going deeper with Image Transformers" (CaiT), equation 4, https://arxiv.org/abs/2103.17239
`start` in the paper is 0.1 up to 18 layers, 1e-5 up to 24, and 1e-6 beyond. The vectors can be multiplied into the
branches' last kernels once training is over.
"""

from typing import Any, ClassVar

import flax.linen as nn

from saccade.block.base import Mix, Wiring
from saccade.types import Hidden


class LayerScale(Wiring):
    """Attributes: start, of every element of the scales."""

    identity: ClassVar[bool] = True
    example: ClassVar[dict] = {'start': 0.1}

    start: float

    @nn.compact
    def wire(self, x: Hidden, train: bool, mix: Mix) -> tuple[Hidden, Any]:
        mixed, state = mix(self.mixer(name='mixer'), self.norm(name='mixer_norm')(x))
        x = x + self._scale('mixer_scale', x) * mixed
        branch = self.feedforward(name='feedforward')(self.norm(name='feedforward_norm')(x), train)
        return x + self._scale('feedforward_scale', x) * branch, state

    def _scale(self, name: str, x: Hidden) -> Any:
        return self.param(name, nn.initializers.constant(self.start), x.shape[-1:])
