# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Graph: nodes with a type or with features, and edges between two of them; and node identifiers, the protocol."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int


@dataclass(frozen=True, eq=False)
class Graph:
    """Graph.

    Attributes:
        nodes: the type of each node, or its features.
        edges: first and second end of each directed edge, by the number of the node. An undirected edge is two.
        types: of each edge; None for none.
        place: where the graph stands, as a message is to name it.
    """

    nodes: Sequence[str] | Float[np.ndarray, 'n F']
    edges: Int[np.ndarray, 'm 2']
    types: Sequence[str | None]
    place: str

    @property
    def adjacency(self) -> Float[np.ndarray, 'n n']:
        """1 where an edge joins two nodes, in either direction, else 0."""
        joined = np.zeros((len(self.nodes), len(self.nodes)))
        joined[self.edges[:, 0], self.edges[:, 1]] = 1
        return np.maximum(joined, joined.T)


@runtime_checkable
class Identifiers(Protocol):
    """Protocol of node identifiers: numbers of each node that follow from who is joined to whom.

    Attributes:
        count: k, how many numbers a node has.
        signed: whether each of the k columns is an eigenvector, which has no sign of its own.
    """

    count: int
    signed: ClassVar[bool]

    def __call__(self, adjacency: Float[np.ndarray, 'n n']) -> Float[np.ndarray, 'n k']:
        """Return the numbers of each node of a symmetric adjacency matrix."""
        ...
