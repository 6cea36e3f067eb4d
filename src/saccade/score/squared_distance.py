# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""L2 attention: scores are negative squared distances of queries and keys.

    s[n, i, j] = -(scale / 2) |q[n, i] - k[g, j]|^2

Kim, Papamakarios, Mnih 2021, "The Lipschitz Constant of Self-Attention", section 3.2, https://arxiv.org/abs/2006.04710
The paper's scores are those of scale = 2 / sqrt(H): with scale = 1 / sqrt(H), half of them, they differ from those of
the product by |k|^2 alone. Its bound on the Lipschitz constant also needs queries and keys of one projection, and a
factor on the outputs; ours leaves both out. Cost: T H + S H beside the product.
"""

import flax.linen as nn

from saccade.ops import score

__all__ = ['SquaredDistance']


class SquaredDistance(nn.Module):
    """L2 attention: a score is minus the squared distance of query and key, times scale / 2."""

    def terms(self, heads: int) -> tuple[score.SquaredDistance, ...]:
        """Return the term that turns scale q.k into -(scale / 2) |q - k|^2."""
        return (score.SquaredDistance(),)
