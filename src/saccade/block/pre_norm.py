# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Pre-norm block: the norm stands inside the residual branch, so that the block can learn the identity.

    h = x + mixer(norm(x));   y = h + feedforward(norm(h))

Xiong et al. 2020, "On Layer Normalization in the Transformer Architecture", table 1,
https://arxiv.org/abs/2002.04745; used by GPT-2 and Llama. A norm follows the last block, in the model.
"""

from typing import Any

import flax.linen as nn

from saccade.block.base import Mix, Wiring
from saccade.types import Hidden


class PreNorm(Wiring):
    @nn.compact
    def wire(self, x: Hidden, train: bool, mix: Mix) -> tuple[Hidden, Any]:
        mixed, state = mix(self.mixer(name='mixer'), self.norm(name='mixer_norm')(x))
        x = x + mixed
        return x + self.feedforward(name='feedforward')(self.norm(name='feedforward_norm')(x), train), state
