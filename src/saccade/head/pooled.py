# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Sequence classification head: pooling over the tokens of a row, a hidden layer, an output layer.

    h = f(pool(x) W + b);   scores = h V + c

Devlin et al. 2019, "BERT", section 3.1, https://arxiv.org/abs/1810.04805: the pool is [CLS], f is tanh, and the same
head serves next-sentence prediction and classification. Means and maxima: Reimers, Gurevych 2019, "Sentence-BERT",
section 3, https://arxiv.org/abs/1908.10084. Cost: D^2 + D C per row.
"""

import flax.linen as nn
from jaxtyping import Array, Float

from saccade.head.base import Classes
from saccade.types import Hidden, Part, Reading

__all__ = ['Pooled']


class Pooled(Classes):
    """Sequence classification head.

    Attributes: pool, a function of the hidden states and the padding mask, such as `ops.pool:first`.
    """

    pool: Part

    @nn.compact
    def __call__(self, x: Hidden, reading: Reading, train: bool = False) -> Float[Array, 'B C']:
        return self._scores(self.pool(x, reading.context.real), train)
