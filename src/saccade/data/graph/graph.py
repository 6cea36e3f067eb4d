# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Graph: nodes with types or features, and edges between them; and the protocol of node identifiers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int


@dataclass(frozen=True, eq=False)
class Graph:
    """Graph.

    Attributes:
        nodes: type or features of each node.
        edges: first and second node of each directed edge, by index. An undirected edge is stored in both directions.
        types: type of each edge; None for none.
        place: place of the graph, for messages.
    """

    nodes: Sequence[str] | Float[np.ndarray, 'n F']
    edges: Int[np.ndarray, 'm 2']
    types: Sequence[str | None]
    place: str

    @property
    def adjacency(self) -> Float[np.ndarray, 'n n']:
        """Symmetric adjacency matrix: 1 where an edge joins two nodes in either direction, else 0."""
        joined = np.zeros((len(self.nodes), len(self.nodes)))
        joined[self.edges[:, 0], self.edges[:, 1]] = 1
        return np.maximum(joined, joined.T)


@runtime_checkable
class Identifiers(Protocol):
    """Protocol of node identifiers: a vector for each node, derived from the adjacency.

    Attributes:
        count: number of components (k).
        signed: True if the k columns are eigenvectors, whose signs are arbitrary.
    """

    count: int
    signed: ClassVar[bool]

    def __call__(self, adjacency: Float[np.ndarray, 'n n']) -> Float[np.ndarray, 'n k']:
        """Return the identifier of each node, from a symmetric adjacency matrix."""
        ...
