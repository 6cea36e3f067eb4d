# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Softmax of each row.

    p[n, i, j] = exp(s[n, i, j]) / sum_k exp(s[n, i, k])        over the keys S that the mask allows

Vaswani et al. 2017, "Attention Is All You Need", equation 1, https://arxiv.org/abs/1706.03762
Rows are queries and each row is normalised; in texts with queries as columns, each column. A row without keys is zeros.
Cost: T S exponentials per head.
"""

from typing import ClassVar

from saccade.module import Module
from saccade.ops.softmax import SoftmaxWeights
from saccade.types import Rows

__all__ = ['Softmax']


class Softmax(Module):
    """Softmax of each row of scores."""

    rows: ClassVar[Rows] = Rows()
    online: ClassVar[type[SoftmaxWeights]] = SoftmaxWeights
    sink: ClassVar[bool] = False

    def __call__(self, heads: int) -> SoftmaxWeights:
        return SoftmaxWeights()
