# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Random-walk return probabilities as node identifiers: the probability that a walk of t steps ends at its start.

    p_i = ((D^-1 A)_ii, (D^-1 A)^2_ii, ..., (D^-1 A)^k_ii)

Dwivedi et al. 2022, "Graph Neural Networks with Learnable Structural and Positional Representations",
https://arxiv.org/abs/2110.07875. They are equivariant: reordering the nodes reorders the identifiers. Cost: k n^3 per
graph, once. Nodes that a symmetry of the graph exchanges have equal identifiers.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from saccade.types import Count

__all__ = ['RandomWalk']


@dataclass(frozen=True)
class RandomWalk:
    """Random-walk return probabilities. Attributes: count, k, steps of the longest walk."""

    count: Count

    signed: ClassVar[bool] = False

    def __call__(self, adjacency: Float[np.ndarray, 'n n']) -> Float[np.ndarray, 'n k']:
        """Return the probabilities for 1, 2, ... k steps; 0 for a node without edges."""
        step = adjacency / np.maximum(adjacency.sum(axis=-1, keepdims=True), 1)
        walk, returns = np.eye(len(adjacency)), []
        for _ in range(self.count):
            walk = walk @ step
            returns.append(np.diag(walk))
        return np.stack(returns, axis=-1)
