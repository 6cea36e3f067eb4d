# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""L2 attention: scores are negative squared distances of queries and keys.

    s[n, i, j] = -(scale / 2) |q[n, i] - k[g, j]|^2

Kim, Papamakarios, Mnih 2021, "The Lipschitz Constant of Self-Attention", section 3.2, https://arxiv.org/abs/2006.04710
The paper has scale = 2 / sqrt(H). With scale = 1 / sqrt(H) scores are half of the paper's, and equal to dot products
up to |k|^2 and a constant per query. The paper's Lipschitz bound also requires tied query and key projections and a
factor of the outputs, both omitted here. Cost: T H + S H in addition to the product.
"""

from saccade.module import Module
from saccade.ops import score_terms

__all__ = ['SquaredDistance']


class SquaredDistance(Module):
    """L2 attention: a score is the negative squared distance of query and key times scale / 2."""

    def terms(self, heads: int) -> tuple[score_terms.SquaredDistance, ...]:
        """Return the term that replaces scale q.k by -(scale / 2) |q - k|^2."""
        return (score_terms.SquaredDistance(),)
