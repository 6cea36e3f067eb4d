# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Pre-norm block: the norm is inside the residual branch, so the block can learn the identity.

    h = x + s mixer(norm(x));   y = h + s feedforward(norm(h))

Xiong et al. 2020, "On Layer Normalization in the Transformer Architecture", table 1,
https://arxiv.org/abs/2002.04745; used by GPT-2 and Llama with s = 1. A norm follows the last block, in the model.
s = 1 / sqrt(L) keeps the sizes of x and its updates independent of the depth L: Yang et al. 2023, "Tensor Programs VI"
(depth-muP), https://arxiv.org/abs/2310.02244; CompleteP uses 1 / L: https://arxiv.org/abs/2505.01618
"""

from typing import ClassVar

from saccade.block.base import SequentialBlock
from saccade.types import Hidden, Real

__all__ = ['PreNorm']


class PreNorm(SequentialBlock):
    """Pre-norm block.

    Attributes: branch_scale, the constant s.
    """

    identity: ClassVar[bool] = True

    branch_scale: float = 1.0

    def after(self, branch: str, x: Hidden, y: Hidden, real: Real | None) -> Hidden:
        """Return x + s y, with the constant s = `branch_scale`."""
        return x + self.branch_scale * y
