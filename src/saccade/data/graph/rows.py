# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Rows of labelled graphs, one graph per row, in TokenGT's layout: a frame per node, then a frame per edge.

    node v: (x_v, 0, 1, 0, p_v, p_v);   edge from u to v: (0, x_uv, 0, 1, p_u, p_v)

x are features, p node identifiers; the two numbers between them distinguish nodes from edges. Kim et al. 2022, "Pure
Transformers are Powerful Graph Learners", section 2, https://arxiv.org/abs/2207.02505. The linear map of a frame learns
the type embeddings of nodes and edges.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from saccade.data.dataset_base import Arrays
from saccade.data.frames.rows import FrameSplit, blank, row_of
from saccade.data.rows.ragged import Ragged
from saccade.data.split import Row


class FrameLayout(NamedTuple):
    """Layout of a frame.

    Attributes:
        node_features: number of features of a node (F), x_v.
        edge_features: number of features of an edge (G), x_uv.
        identifiers: size of a node identifier (k), p_v.
        signed: True if identifiers are eigenvectors.
    """

    node_features: int
    edge_features: int
    identifiers: int
    signed: bool

    @property
    def width(self) -> int:
        """Size of a frame."""
        return self.node_features + self.edge_features + 2 + 2 * self.identifiers

    @property
    def eigenvectors(self) -> Int[np.ndarray, 'width']:
        """Index of the eigenvector, from 1, of each component of a frame; 0 for none."""
        numbers = np.zeros(self.width, np.int32)
        if self.signed:
            numbers[self.width - 2 * self.identifiers :] = np.tile(np.arange(self.identifiers) + 1, 2)
        return numbers

    def padding(self, context_length: int) -> Row:
        """Return a row of padding."""
        return blank(context_length, self.width) | {'eigenvectors': self.eigenvectors}


def frames_of(
    nodes: Float[np.ndarray, 'n F'],
    identifiers: Float[np.ndarray, 'n k'],
    edges: Int[np.ndarray, 'm 2'],
    edge_features: Float[np.ndarray, 'm G'],
) -> Float[np.ndarray, 'n+m width']:
    """Return the frames of a graph, nodes first."""
    (n, F), (m, G) = nodes.shape, edge_features.shape
    features = np.block([[nodes, np.zeros((n, G))], [np.zeros((m, F)), edge_features]])
    kinds = np.repeat(np.eye(2), (n, m), axis=0)
    first, second = (np.concatenate([np.arange(n), edges[:, end]]) for end in (0, 1))
    return np.concatenate([features, kinds, identifiers[first], identifiers[second]], axis=-1).astype(np.float32)


@dataclass(frozen=True, eq=False)
class GraphRows:
    """Rows of labelled graphs, built lazily.

    Attributes:
        nodes: [n F], features of the nodes of each graph.
        identifiers: [n k], identifiers of its nodes.
        edges: [m 2], first and second node of each edge.
        edge_features: [m G], features of its edges.
        labels: class of each graph.
        layout: layout of a frame.
        context_length: number of frames (nodes and edges) per row.
    """

    nodes: Ragged
    identifiers: Ragged
    edges: Ragged
    edge_features: Ragged
    labels: Int[np.ndarray, 'graphs']
    layout: FrameLayout
    context_length: int

    @classmethod
    def of(cls, arrays: Arrays, layout: FrameLayout, context_length: int) -> 'GraphRows':
        """Return rows from the arrays of graphs."""
        nodes, identifiers = (Ragged.of(arrays[name], arrays['node_counts']) for name in ('nodes', 'identifiers'))
        edges, features = (Ragged.of(arrays[name], arrays['edge_counts']) for name in ('edges', 'edge_features'))
        return cls(nodes, identifiers, edges, features, arrays['labels'], layout, context_length)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, row: int) -> Row:
        frames = frames_of(self.nodes[row], self.identifiers[row], self.edges[row], self.edge_features[row])
        return row_of(frames, self.context_length) | {
            'eigenvectors': self.layout.eigenvectors,
            'example': np.int32(row),
            'label': np.int32(self.labels[row]),
        }

    def padding(self) -> Row:
        """Return a row of padding."""
        return self.layout.padding(self.context_length)


@dataclass(frozen=True, eq=False, kw_only=True)
class GraphSplit(FrameSplit):
    """Split of labelled graphs. Attributes: names of the classes."""

    rows: GraphRows
    unit: str = 'graphs'
