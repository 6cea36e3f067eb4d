# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Attention with linear biases (ALiBi): scores decrease linearly with distance, with a slope per head.

    s[n, i, j] <- s[n, i, j] - m_n (i - j),      m = 2^(-8/N), 2^(-16/N), ..., 2^-8

Press et al. 2022, "Train Short, Test Long: Attention with Linear Biases Enables Input Length Extrapolation" (ALiBi),
section 3, https://arxiv.org/abs/2108.12409
The slopes are not trained. The paper covers causal models; for later keys the distance is |i - j|. No parameters; any
length. Cost: N T S additions.
"""

from saccade.ops.slopes import geometric_slopes
from saccade.ops.term import LinearBias
from saccade.position.base import OnScores
from saccade.types import ScoreTerm

__all__ = ['ALiBi']


class ALiBi(OnScores):
    """Attention with linear biases: a fixed slope for each head, times the distance in tokens."""

    def terms(self, heads: int) -> tuple[ScoreTerm, ...]:
        """Return the linear bias, with geometric slopes for `heads` heads."""
        return (LinearBias(geometric_slopes(heads)),)
