# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""No positions (NoPE): a causal model gets the order of tokens only from its mask.

Haviv et al. 2022, "Transformer Language Models without Positional Encodings Still Learn Positional
Information", https://arxiv.org/abs/2203.16634
It can be used as a token position scheme and as a pairwise one.
"""

from jaxtyping import Array, Int

from saccade.module import Transform
from saccade.types import Hidden, Keys, Queries, ScoreTerm

__all__ = ['NoPosition']


class NoPosition(Transform):
    """No positions: tokens, queries, keys and scores are unchanged."""

    def __call__(self, x: Hidden, positions: Int[Array, 'B T'] | None = None) -> Hidden:
        return x

    def rotate(
        self, q: Queries, k: Keys, q_positions: Int[Array, 'B T'], k_positions: Int[Array, 'B S']
    ) -> tuple[Queries, Keys]:
        """Return queries and keys unchanged."""
        return q, k

    def terms(self, heads: int) -> tuple[ScoreTerm, ...]:
        """Return no score terms."""
        return ()
