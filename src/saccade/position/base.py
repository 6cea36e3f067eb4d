# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base classes of position schemes inside attention: on queries and keys, or on their scores."""

from typing import ClassVar

from jaxtyping import Array, Int

from saccade.module import Module
from saccade.types import Capabilities, Keys, Queries, ScoreTerm


class OnHeads(Module):
    """Base class of position schemes that transform queries and keys."""

    capabilities: ClassVar[Capabilities] = Capabilities(equivariant=False)

    def terms(self, heads: int) -> tuple[ScoreTerm, ...]:
        """Return no score terms."""
        return ()


class OnScores(Module):
    """Base class of position schemes that transform scores by distance."""

    by_distance: ClassVar[bool] = True
    capabilities: ClassVar[Capabilities] = Capabilities(cross=False, equivariant=False)

    def rotate(
        self, q: Queries, k: Keys, q_positions: Int[Array, 'B T'], k_positions: Int[Array, 'B S']
    ) -> tuple[Queries, Keys]:
        """Return queries and keys unchanged."""
        return q, k
