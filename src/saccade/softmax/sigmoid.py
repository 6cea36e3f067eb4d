# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sigmoid attention: a key's weight is the sigmoid of its score, independent of other keys.

    p[n, i, j] = sigmoid(s[n, i, j] - log(length))

Ramapuram et al. 2024, "Theory, Analysis, and Best Practices for Sigmoid Self-Attention", section 2, with its
bias of -log n, https://arxiv.org/abs/2409.04431
With scores near zero a row of n keys sums to about one, as with softmax; the sum can be anything up to S. n is a
setting, so a token's weights do not change as the sequence grows. Cost: T S sigmoids per head, no row statistics.
"""

import math
from typing import Any, ClassVar

import jax
from flax import struct

from saccade.module import Module
from saccade.ops.elementwise import ElementwiseWeights
from saccade.types import Count, Rows, Scores

__all__ = ['Sigmoid']


@struct.dataclass
class SigmoidWeights(ElementwiseWeights):
    """Sigmoid of each score.

    Attributes: bias, added to every score.
    """

    bias: float = struct.field(pytree_node=False)

    def weight(self, scores: Scores) -> Scores:
        """Return sigmoid(score + bias)."""
        return jax.nn.sigmoid(scores + self.bias)


class Sigmoid(Module):
    """Sigmoid attention weights.

    Attributes: length, n, the length of training sequences, in tokens.
    """

    length: Count

    rows: ClassVar[Rows] = Rows(least=0.0, most=math.inf)
    online: ClassVar[type[SigmoidWeights]] = SigmoidWeights
    example: ClassVar[dict[str, Any]] = dict(length=4)

    def __call__(self, heads: int) -> SigmoidWeights:
        return SigmoidWeights(-math.log(self.length))
