# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Graph processor: numbers of nodes and edges: one-hot types, or features with mean 0 and deviation 1."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from saccade.data.frames.standardizer import Standardizer
from saccade.data.graph.graph import Graph
from saccade.data.processor_base import ProcessorBase
from saccade.types import UserError


@dataclass(frozen=True)
class GraphProcessor(ProcessorBase):
    """Graph processor. A type that the training split does not have becomes zeros.

    Attributes:
        node_types, edge_types: types in the training split, sorted.
        mean, deviation: of each feature of the nodes; empty if nodes have types.
    """

    node_types: tuple[str, ...] = ()
    edge_types: tuple[str, ...] = ()
    mean: tuple[float, ...] = ()
    deviation: tuple[float, ...] = ()

    of_what: ClassVar[str] = 'graphs'

    def __post_init__(self) -> None:
        if len(self.mean) != len(self.deviation) or not all(each > 0 for each in self.deviation):
            raise UserError('needs as many means as deviations above 0')

    @classmethod
    def of(cls, graphs: Sequence[Graph]) -> 'GraphProcessor':
        """Return the processor for the graphs of a training split.

        Raises:
            UserError: nodes have types in some graphs and features in others, or different numbers of features.
        """
        edge_types = tuple(sorted({each for graph in graphs for each in graph.types if each is not None}))
        if not isinstance(graphs[0].nodes, np.ndarray):
            return cls(tuple(sorted({each for graph in graphs for each in _names(graph)})), edge_types)
        width = graphs[0].nodes.shape[-1]
        wide = cls(mean=width * (0.0,), deviation=width * (1.0,))
        scale = Standardizer.of(np.concatenate([wide.nodes(graph) for graph in graphs]))
        return cls(edge_types=edge_types, mean=scale.mean, deviation=scale.deviation)

    @classmethod
    def _fields(cls, found: dict[str, Any]) -> dict[str, Any]:
        kinds = {'node_types': str, 'edge_types': str, 'mean': float, 'deviation': float}
        return {name: tuple(map(kind, found[name])) for name, kind in kinds.items()}

    @property
    def node_features(self) -> int:
        """Number of features of a node (F)."""
        return len(self.node_types) + len(self.mean)

    def nodes(self, graph: Graph) -> Float[np.ndarray, 'n F']:
        """Return the features of each node.

        Raises:
            UserError: nodes have types instead of features or the reverse, or another number of features.
        """
        if not self.mean:
            return _one_hot(_names(graph), self.node_types)
        if not isinstance(graph.nodes, np.ndarray):
            raise UserError(f'{graph.place}: its nodes have types, but nodes of the training split have features')
        if graph.nodes.shape[-1] != len(self.mean):
            raise UserError(
                f'{graph.place}: its nodes have {graph.nodes.shape[-1]} features, but nodes of the training split have '
                f'{len(self.mean)}'
            )
        return Standardizer(self.mean, self.deviation)(graph.nodes)

    def edges(self, graph: Graph) -> Float[np.ndarray, 'm G']:
        """Return the features of each edge; zeros for an edge without a type."""
        return _one_hot(graph.types, self.edge_types)


def _names(graph: Graph) -> Sequence[str]:
    if isinstance(graph.nodes, np.ndarray):
        raise UserError(f'{graph.place}: its nodes have features, but nodes of the training split have types')
    return graph.nodes


def _one_hot(found: Sequence[str | None], known: Sequence[str]) -> Float[np.ndarray, '_ types']:
    return np.array([[each == name for name in known] for each in found], np.float32).reshape(len(found), len(known))
