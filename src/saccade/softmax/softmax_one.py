# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Softmax plus one (softmax_1): a sink with its logit fixed at zero, so weights can sum to less than one.

    p[n, i, j] = exp(s[n, i, j]) / (1 + sum_k exp(s[n, i, k]))

Miller 2023, "Attention Is Off By One", its softmax_1, https://www.evanmiller.org/attention-is-off-by-one.html
Rows sum to less than one, and to almost zero if all scores are very low. Cost: that of softmax.
"""

from typing import ClassVar

import jax.numpy as jnp

from saccade.module import Module
from saccade.ops.softmax import SoftmaxWeights
from saccade.types import Rows

__all__ = ['SoftmaxOne']


class SoftmaxOne(Module):
    """Softmax with a one added to the normaliser: a sink of logit zero."""

    rows: ClassVar[Rows] = Rows(least=0.0)
    online: ClassVar[type[SoftmaxWeights]] = SoftmaxWeights
    sink: ClassVar[bool] = True
    why_not: ClassVar[dict[str, str]] = {'BareSoftmaxVariant': 'it has a sink'}

    def __call__(self, heads: int) -> SoftmaxWeights:
        return SoftmaxWeights(jnp.zeros(heads))
