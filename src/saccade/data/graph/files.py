# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Labelled graphs of the user, in JSON lines, one object per graph.

    {"nodes": ["C", "C", "O"], "edges": [[0, 1, "single"], [1, 2, "double"]], "label": "toxic"}
    {"nodes": [[0.5, 1.0], [0.0, 2.5]], "edges": [[0, 1]], "label": "harmless"}

A node is the name of its type, or a list of features. An edge has the indices of its two nodes, from 0, and optionally
a type.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from saccade.data.cache import digest
from saccade.data.corpus.files import number_of
from saccade.data.corpus.record_files import FileRecords, Record, read_records
from saccade.data.corpus.records import RecordSource, open_records
from saccade.data.dataset_base import DatasetSource
from saccade.data.encoder.names import Names, class_of
from saccade.data.graph.graph import Graph
from saccade.data.graph.labelled_base import LabelledGraphsBase
from saccade.data.graph.processor import GraphProcessor
from saccade.data.graph.rows import GraphSplit
from saccade.data.labelled_base import Labelled
from saccade.data.stratified import both_splits, stratified
from saccade.paths import expanded
from saccade.types import Count, CountOrZero, HeldOut, UserError

__all__ = ['GraphFiles']

_COLUMNS = 'nodes', 'edges', 'label'


@dataclass(frozen=True, kw_only=True)
class GraphFiles(LabelledGraphsBase):
    """Labelled graphs in files.

    Attributes:
        path: a .jsonl file; or a folder with a file named after each split, as in `data.corpus.records`.
        node_features: number of types or features of nodes (F).
        edge_types: number of types of edges (G).
        classes: number of classes (C).
        names: of the classes, in the order of their numbers; None for the sorted names in the training split.
        directed: edges lead only from their first node to their second. Node identifiers ignore directions.
        validation: fraction of each class of a single file to hold out, deterministically.
    """

    path: str
    node_features: Count
    edge_types: CountOrZero = 0
    classes: Count
    names: tuple[str, ...] | None = None
    directed: bool = False
    validation: HeldOut = 0.2

    inputs: ClassVar[Mapping[str, str]] = {'nodes': 'nodes', 'edges': 'edges'}
    example: ClassVar[Mapping[str, str]] = {'file': 'graphs.jsonl'}

    def read(self, path: Path) -> FileRecords:
        """Read a file of graphs; labels are optional."""
        return read_records(path, tuple(self.inputs.values()))

    def unanswered(self, records: RecordSource, names: tuple[str, ...], processor: GraphProcessor) -> GraphSplit:
        """Return the rows of unlabelled graphs; `names` are the names of the classes.

        Raises:
            UserError: a graph is invalid for `graph_of`, or has more nodes and edges than fit a row.
        """
        graphs = [graph_of(records[index], records.place(index), self.directed) for index in range(len(records))]
        found = Labelled.unknown(graphs, names)
        return self._split(self._arrays_of(found, processor), found, self._layout)

    @property
    def _features(self) -> tuple[int, int]:
        return self.node_features, self.edge_types

    def _open(self, cache: Path) -> DatasetSource:
        records = self._records(cache)
        labels = {name: [_label(found, index) for index in range(len(found))] for name, found in records.items()}
        names = Names.of(labels['train'], self.classes, self.names)
        splits = {
            name: Labelled(
                [graph_of(found[index], found.place(index), self.directed) for index in range(len(found))],
                names.numbers(labels[name], found.place),
                names.known,
            )
            for name, found in records.items()
        }
        digests = {name: found.digest for name, found in records.items()}
        return DatasetSource(splits, digest(digests, self.validation, self.directed, *self.names or ()))

    def _records(self, cache: Path) -> Mapping[str, FileRecords]:
        path = expanded(self.path)
        if path.is_dir():
            return open_records(None, str(path), cache, self.validation, _COLUMNS).splits
        found = read_records(path, _COLUMNS)
        _, labels = np.unique([_label(found, index) for index in range(len(found))], return_inverse=True)
        chosen = stratified(labels, self.validation)
        return {split: found.only(part.tolist()) for split, part in both_splits(chosen, self.validation).items()}


def graph_of(record: Record, place: str, directed: bool) -> Graph:
    """Return the graph of a record.

    Args:
        place: place of the record, for messages.
        directed: edges lead only one way.

    Raises:
        UserError: there are no nodes; nodes have neither names nor features of equal length; an edge does not join two
            existing nodes, or is repeated.
    """
    nodes, edges = record['nodes'], record['edges']
    if not isinstance(nodes, list) or not nodes:
        raise UserError(f"{place}: 'nodes' must be a list of at least one node, not {nodes!r}")
    if not isinstance(edges, list):
        raise UserError(f"{place}: 'edges' must be a list, as in [[0, 1], [1, 2]], not {edges!r}")
    features = _nodes(nodes, place)
    ends = [_ends(edge, len(nodes), place) for edge in edges]
    seen: set[frozenset[int] | tuple[int, int]] = set()
    for pair in ends:
        known = pair if directed else frozenset(pair)
        if known in seen:
            hint = '' if directed else '; an undirected edge is given once, unless data.directed is True'
            raise UserError(f'{place}: the edge {list(pair)} is repeated{hint}')
        seen.add(known)
    types = [edge[2] if len(edge) > 2 else None for edge in edges]
    if not directed:
        back = [number for number, (first, second) in enumerate(ends) if first != second]
        ends += [ends[number][::-1] for number in back]
        types += [types[number] for number in back]
    return Graph(features, np.array(ends, np.int32).reshape(-1, 2), types, place)


def _nodes(nodes: Sequence[Any], place: str) -> Sequence[str] | np.ndarray:
    if all(isinstance(node, str) for node in nodes):
        return nodes
    width = len(nodes[0]) if isinstance(nodes[0], list) else 0
    for number, node in enumerate(nodes):
        if not isinstance(node, list) or not node or not all(map(_is_number, node)):
            raise UserError(
                f'{place}: node {number} is {node!r}; nodes must all be names of types, or all lists of numbers'
            )
        if len(node) != width:
            raise UserError(f'{place}: node {number} has {len(node)} features, but node 0 has {width}')
    return np.array(nodes, np.float64)


def _ends(edge: Any, nodes: int, place: str) -> tuple[int, int]:
    if not isinstance(edge, list) or len(edge) not in (2, 3) or not isinstance(edge[-1] if edge[2:] else '', str):
        raise UserError(f'{place}: an edge is [0, 1] or [0, 1, "type"], not {edge!r}')
    for end in edge[:2]:
        if isinstance(end, bool) or not isinstance(end, int) or not 0 <= end < nodes:
            raise UserError(f'{place}: the edge {edge!r} has an end {end!r}, but the nodes are 0 to {nodes - 1}')
    return edge[0], edge[1]


def _is_number(value: Any) -> bool:
    return not isinstance(value, str) and number_of(value) is not None


def _label(records: FileRecords, index: int) -> str:
    return class_of(records[index]['label'], 'label', records.place(index))
