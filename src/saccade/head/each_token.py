# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Token classification head: scores of each token, for tags, answer spans or replaced tokens.

    scores_t = x_t V + c        or, with a hidden layer,  f(x_t W + b) V + c

Devlin et al. 2019, "BERT", sections 4.2 and 5.3, https://arxiv.org/abs/1810.04805; with a hidden layer: the
discriminator of Clark et al. 2020, "ELECTRA", https://arxiv.org/abs/2003.10555. Cost: T D C.
"""

import flax.linen as nn
from jaxtyping import Array, Float

from saccade.head.base import Classes
from saccade.types import Hidden, Reading

__all__ = ['EachToken']


class EachToken(Classes):
    """Token classification head: C scores for each token."""

    @nn.compact
    def __call__(self, x: Hidden, reading: Reading, train: bool = False) -> Float[Array, 'B T C']:
        return self._scores(x, train)
