# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Path-star: find the path from the middle of a star to the end of one of its arms.

    3 7 | 5 2 | 3 5 | 7 1 / 3 1 =  3 7      the answers after = are the path 3 7 1
    3 7 | 5 2 | 3 5 | 7 1 / 3 1 =  1 7      backwards: 1 7 3

Bachmann, Nagarajan 2024, "The Pitfalls of Next-Token Prediction", https://arxiv.org/abs/2403.06963. Each answer is read
before the next one is asked for. So all nodes but one are known from the node before, by its edge, and a model that
learns this has no reason to plan: the first node after the start stays a guess among the arms, and `solved` is 1 in the
number of arms. Backwards, each node has one edge to the node before it.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from saccade.data.diagnostic.generator import Example, distinct, nothing, require_at_least
from saccade.data.uniform import Uniform
from saccade.types import Count, Range

__all__ = ['PathStar']

_NEXT, _ASKED, _ANSWER = range(3)  # tokens | / =


@dataclass(frozen=True, kw_only=True)
class PathStar:
    """Path-star. A row of `arms` paths of `path` nodes has (3 arms + 1)(path - 1) + 3 tokens.

    Attributes:
        arms: number of arms of the star (d).
        path: number of nodes of a path, with the start (l).
        nodes: number of node names (N); the names of a graph are drawn from these.
        backwards: ask for the path from its end to the start.
    """

    arms: Annotated[int, Range(least=2)] = 2
    path: Annotated[int, Range(least=2)] = 5
    nodes: Count = 50
    backwards: bool = False

    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        require_at_least(1 + self.arms * (self.path - 1), nodes=self.nodes)

    @property
    def vocabulary(self) -> int:
        """Number of tokens: three signs and the names of the nodes."""
        return 3 + self.nodes

    @property
    def shortest(self) -> int:
        """Length of each example: the edges, start and end, and the path without its last node."""
        return (3 * self.arms + 1) * (self.path - 1) + 3

    def example(self, draw: Uniform, length: int) -> Example:
        """Return an example; all have the same length."""
        edges = self.arms * (self.path - 1)
        names = 3 + distinct(draw, self.nodes, 1 + edges)
        arms = np.column_stack([np.full(self.arms, names[0]), names[1:].reshape(self.arms, -1)])
        pairs = np.stack([arms[:, :-1], arms[:, 1:]], -1).reshape(-1, 2)[distinct(draw, edges, edges)]
        listed = np.column_stack([pairs, np.full(edges, _NEXT)]).reshape(-1)
        listed[-1] = _ASKED
        path = arms[0, ::-1] if self.backwards else arms[0]  # the arms are drawn in random order
        tokens = np.concatenate([listed, [arms[0, 0], arms[0, -1], _ANSWER], path[:-1]]).astype(np.int32)
        return Example(tokens, np.concatenate([nothing(len(tokens) - self.path), path]).astype(np.int32))
