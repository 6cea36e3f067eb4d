# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Post-norm block, the original order: the norm comes after the residual addition.

    h = norm(x + mixer(x));   y = norm(h + feedforward(h))

Vaswani et al. 2017, "Attention Is All You Need", section 3.1, https://arxiv.org/abs/1706.03762
Even with zero branches it is not the identity; deep stacks of it need a warm-up of the learning rate.
"""

from typing import Any, ClassVar

import flax.linen as nn

from saccade.block.base import Mix, Wiring
from saccade.types import Hidden


class PostNorm(Wiring):
    identity: ClassVar[bool] = False

    @nn.compact
    def wire(self, x: Hidden, train: bool, mix: Mix) -> tuple[Hidden, Any]:
        mixed, state = mix(self.mixer(name='mixer'), x)
        x = self.norm(name='mixer_norm')(x + mixed)
        return self.norm(name='feedforward_norm')(x + self.feedforward(name='feedforward')(x, train)), state
