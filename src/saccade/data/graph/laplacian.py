# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Laplacian eigenvectors as node identifiers: of the k smallest eigenvalues, without the trivial one.

    L = I - D^(-1/2) A D^(-1/2);   L v_i = lambda_i v_i,   0 <= lambda_1 <= ... <= lambda_k;   v_i . D^(1/2) 1 = 0

Dwivedi, Bresson 2021, "A Generalization of Transformer Networks to Graphs", https://arxiv.org/abs/2012.09699;
Kim et al. 2022, "Pure Transformers are Powerful Graph Learners", section 2, https://arxiv.org/abs/2207.02505. Here each
has mean square 1. The sign of an eigenvector is arbitrary: it is chosen so that the sum of cubes is positive, and in
training `augment.sign_flip:SignFlip` draws signs. Cost: n^3 per graph, once. Limits: the basis of a repeated eigenvalue
is arbitrary, so there, and where the cubes sum to 0, another order of the nodes may give other identifiers.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from saccade.types import Count

__all__ = ['Laplacian']

_BEYOND = 3.0  # eigenvalues of L end at 2


@dataclass(frozen=True)
class Laplacian:
    """Laplacian eigenvectors. Attributes: count, k; missing ones are 0."""

    count: Count

    signed: ClassVar[bool] = True

    def __call__(self, adjacency: Float[np.ndarray, 'n n']) -> Float[np.ndarray, 'n k']:
        """Return the eigenvectors as columns, in the order of their eigenvalues."""
        nodes, degrees = len(adjacency), adjacency.sum(axis=-1)
        joined = degrees > 0
        scale = joined / np.sqrt(np.where(joined, degrees, 1))
        laplacian = np.diag(joined.astype(float)) - scale[:, None] * adjacency * scale
        trivial = np.sqrt(degrees / max(degrees.sum(), 1))
        # Shift the trivial eigenvalue to the largest, so that the other eigenvectors of 0, one per further component,
        # are orthogonal to it.
        _, vectors = np.linalg.eigh(laplacian + _BEYOND * np.outer(trivial, trivial))
        kept = vectors[:, : min(self.count, nodes - 1)]
        return np.pad(np.sqrt(nodes) * with_signs(kept), ((0, 0), (0, self.count - kept.shape[-1])))


def with_signs(vectors: Float[np.ndarray, 'n k']) -> Float[np.ndarray, 'n k']:
    """Return each column with the sign that makes the sum of its cubes positive, independent of the order of rows."""
    return np.where((vectors**3).sum(axis=0) < 0, -vectors, vectors)
