# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Random regular graphs: classify a graph as connected, or as two components of equal size.

Both classes have graphs of the same sizes and a constant degree. So counts of nodes, edges or degrees do not
distinguish them, nor does the Weisfeiler-Leman test, nor a message-passing network: Xu et al. 2019, "How Powerful are
Graph Neural Networks?", https://arxiv.org/abs/1810.00826. Nothing is downloaded.

Validation hardly repeats training: for 24, 28 and 32 nodes of degree 3 there are 3,655, 129,795 and over 8 million
different pairs of components (https://oeis.org/A002851 counts connected cubic graphs), and more connected graphs.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Int

from saccade.data.cache import digest
from saccade.data.dataset_base import DatasetSource
from saccade.data.graph.graph import Graph
from saccade.data.graph.labelled_base import LabelledGraphsBase
from saccade.data.graph.processor import GraphProcessor
from saccade.data.labelled_base import Labelled
from saccade.types import Count, UserError

__all__ = ['RegularGraphs']

CLASSES = 'connected', 'two components'
_STEP = 4  # so that half of the nodes is an even number, as required by an odd degree


@dataclass(frozen=True, kw_only=True)
class RegularGraphs(LabelledGraphsBase):
    """Random regular graphs, connected or with two components.

    Attributes:
        context_length: number of frames per row; a graph has one per node and two per edge.
        fewest, most: range of the number of nodes, in steps of 4.
        degree: number of edges per node.
        train, validation: number of graphs per split, half of them connected.
    """

    fewest: Count = 24
    most: Count = 32
    degree: Count = 3
    train: Count = 2000
    validation: Count = 500

    classes: ClassVar[int] = len(CLASSES)

    def __post_init__(self) -> None:
        if self.fewest % _STEP or self.most % _STEP or self.most < self.fewest:
            raise UserError(f'data: fewest {self.fewest} and most {self.most} must be multiples of 4, fewest <= most')
        if not 3 <= self.degree < self.fewest // 2:
            raise UserError(
                f'data.degree: {self.degree} must be at least 3, and less than the {self.fewest // 2} nodes of the '
                'smallest component'
            )
        longest = self.most * (1 + self.degree)
        if self.context_length < longest:
            raise UserError(
                f'data.context_length: {self.most} nodes of {self.degree} edges need {longest} frames, not '
                f'{self.context_length}'
            )

    @property
    def _features(self) -> tuple[int, int]:
        return 0, 0

    def _open(self, cache: Path) -> DatasetSource:
        counts = {'train': self.train, 'validation': self.validation}
        splits = {name: self._drawn(number, name, counts[name]) for number, name in enumerate(counts)}
        return DatasetSource(splits, digest('regular graphs 1', self.fewest, self.most, self.degree, *counts.values()))

    def _make_processor(self, source: DatasetSource, cache: Path) -> GraphProcessor:
        return GraphProcessor()

    def _drawn(self, seed: int, split: str, graphs: int) -> Labelled:
        """Draw graphs by Philox, whose raw numbers are the same in every release of NumPy."""
        source = np.random.Philox(key=seed)
        sizes = np.arange(self.fewest, self.most + 1, _STEP)
        drawn, labels = [], np.arange(graphs) % len(CLASSES)
        for number, label in enumerate(labels.tolist()):
            nodes = int(sizes[number // len(CLASSES) % len(sizes)])
            parts = [_component(source, nodes // (label + 1), self.degree) for _ in range(label + 1)]
            joined = np.concatenate([part + place * (nodes // 2) for place, part in enumerate(parts)])
            edges = source.random_raw(nodes).argsort()[joined]
            edges = edges[source.random_raw(len(edges)).argsort()]
            both = np.concatenate([edges, edges[:, ::-1]])
            drawn.append(Graph([''] * nodes, both, [None] * len(both), f'{split}[{number}]'))
        return Labelled(drawn, labels, CLASSES)


def _component(source: np.random.Philox, nodes: int, degree: int) -> Int[np.ndarray, 'm 2']:
    """Draw a connected regular graph by the pairing model: pair edge ends until there are no loops or double edges.

    Bollobas 1980, https://doi.org/10.1016/S0195-6698(80)80030-8.
    """
    ends = np.repeat(np.arange(nodes), degree)
    while True:
        edges = ends[source.random_raw(len(ends)).argsort()].reshape(-1, 2)
        joined = np.zeros((nodes, nodes), bool)
        joined[edges[:, 0], edges[:, 1]] = joined[edges[:, 1], edges[:, 0]] = True
        if not joined.diagonal().any() and joined.sum() == len(ends) and _is_connected(joined):
            return edges


def _is_connected(joined: Bool[np.ndarray, 'n n']) -> bool:
    reached = np.zeros(len(joined), bool)
    reached[0] = True
    for _ in joined:
        reached = reached | joined[reached].any(axis=0)
    return bool(reached.all())
