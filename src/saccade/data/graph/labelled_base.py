# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Base of datasets of labelled graphs."""

from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import jax
import numpy as np
from jaxtyping import Float

from saccade.data.cache import each, spec
from saccade.data.dataset_base import Arrays, BySplit, DatasetSource
from saccade.data.graph.graph import Identifiers
from saccade.data.graph.processor import GraphProcessor
from saccade.data.graph.rows import FrameLayout, GraphRows, GraphSplit
from saccade.data.labelled_base import Labelled, LabelledBase
from saccade.data.split import Split, batch_of
from saccade.types import Count, Part, UserError


@dataclass(frozen=True, kw_only=True)
class LabelledGraphsBase(LabelledBase):
    """Base of the datasets of labelled graphs.

    Attributes:
        context_length: number of frames per row, one for each node and for each direction of an edge.
        identifiers: node identifiers; None: the model sees nodes and edges, but not which nodes an edge joins.
    """

    context_length: Count
    identifiers: Part[Identifiers] | None

    processes: ClassVar[type[GraphProcessor]] = GraphProcessor

    @property
    @abstractmethod
    def _features(self) -> tuple[int, int]:
        """Number of features of a node (F) and of an edge (G)."""

    @property
    def _layout(self) -> FrameLayout:
        made = None if self.identifiers is None else self.identifiers()
        return FrameLayout(*self._features, made.count if made else 0, made is not None and made.signed)

    def batch_like(self, batch_size: int) -> dict[str, jax.ShapeDtypeStruct]:
        """Return the shapes of a batch, which do not depend on data."""
        return batch_of(self._layout.padding(self.context_length), batch_size)

    def frame(self, processor: GraphProcessor) -> FrameLayout:
        """Return the layout of a frame.

        Raises:
            UserError: the processor has other features.
        """
        made = processor.node_features, len(processor.edge_types)
        names = 'node_features', 'edge_types'
        for name, wanted, found in zip(names, self._features, made, strict=True):
            if wanted != found:
                raise UserError(
                    f'data.{name}: {wanted}, but the training split has {found}; set --config.data.{name}={found}'
                )
        return self._layout

    @property
    def _key(self) -> Any:
        return 'graphs 1', spec(self.identifiers)

    def _make_processor(self, source: DatasetSource, cache: Path) -> GraphProcessor:
        return GraphProcessor.of(source.splits['train'].examples)

    def _arrays(self, source: DatasetSource, processor: GraphProcessor) -> BySplit:
        return {name: self._arrays_of(found, processor) for name, found in source.splits.items()}

    def _arrays_of(self, found: Labelled, processor: GraphProcessor) -> Arrays:
        """Return what `GraphRows.of` takes."""
        graphs, identifiers = found.examples, _none if self.identifiers is None else self.identifiers()
        return {
            'nodes': np.concatenate([processor.nodes(graph) for graph in graphs]),
            'identifiers': np.concatenate([identifiers(graph.adjacency) for graph in each(graphs)]).astype(np.float32),
            'edges': np.concatenate([graph.edges for graph in graphs]).astype(np.int32),
            'edge_features': np.concatenate([processor.edges(graph) for graph in graphs]),
            'node_counts': np.array([len(graph.nodes) for graph in graphs], np.int32),
            'edge_counts': np.array([len(graph.edges) for graph in graphs], np.int32),
            'labels': np.asarray(found.labels, np.int32),
        }

    def _splits(
        self, arrays: BySplit, source: DatasetSource, frame: FrameLayout, processor: GraphProcessor
    ) -> dict[str, Split]:
        return {name: self._split(arrays[name], found, frame) for name, found in source.splits.items()}

    def _split(self, arrays: Arrays, found: Labelled, layout: FrameLayout) -> GraphSplit:
        rows = GraphRows.of(arrays, layout, self.context_length)
        lengths = rows.nodes.lengths + rows.edges.lengths
        longest = int(lengths.argmax())
        if lengths[longest] > self.context_length:
            raise UserError(
                f'{found.examples[longest].place}: {rows.nodes.lengths[longest]} nodes and '
                f'{rows.edges.lengths[longest]} directions of edges do not fit data.context_length: '
                f'{self.context_length}; set --config.data.context_length={lengths[longest]}'
            )
        return GraphSplit(rows=rows, targets=len(rows), names=found.names)


def _none(adjacency: Float[np.ndarray, 'n n']) -> Float[np.ndarray, 'n 0']:
    return np.zeros((len(adjacency), 0))
