# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base class of position schemes that transform the scores of attention."""

from typing import ClassVar

from jaxtyping import Array, Int

from saccade.module import Module
from saccade.types import Capabilities, Keys, Queries


class OnScores(Module):
    """Base class of position schemes that transform scores by distance."""

    by_distance: ClassVar[bool] = True
    capabilities: ClassVar[Capabilities] = Capabilities(cross=False, equivariant=False)

    def rotate(
        self, q: Queries, k: Keys, q_positions: Int[Array, 'B T'], k_positions: Int[Array, 'B S']
    ) -> tuple[Queries, Keys]:
        """Return queries and keys unchanged."""
        return q, k
