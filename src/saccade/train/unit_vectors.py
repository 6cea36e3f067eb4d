# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Projection of nGPT: after each step the vectors of every matrix are scaled to norm 1 along the embedding dimension.

    config.optimizer.projection = dict(use='train.unit_vectors:UnitVectors')

Loshchilov, Hsieh, Sun, Ginsburg 2024, "nGPT: Normalized Transformer with Representation Learning on the Hypersphere",
section 2.6, https://arxiv.org/abs/2410.01131. The declared axes give this dimension: the one D of a kernel, as in
'D -> N H', 'N H -> D' or 'F -> D', and of a table 'V D'. Parameters without a D on exactly one side are unchanged:
vectors, and square maps 'D -> D'. `ops.similarity:unit_normal` is an initialiser with such vectors.
"""

from dataclasses import dataclass

import jax
from jaxtyping import Array

from saccade.axes import AxesByPath, KernelAxes, copies_in, letters_of
from saccade.ops.similarity import normalised
from saccade.train.optimizer import each_leaf
from saccade.types import Params, UserError

__all__ = ['UnitVectors']


@dataclass(frozen=True)
class UnitVectors:
    """Projection that scales matrices to vectors of norm 1 along their D."""

    def __call__(self, params: Params, axes: AxesByPath) -> Params:
        """Return the parameters projected.

        Raises:
            UserError: none of them is a matrix with a D.
        """
        places = each_leaf(params, lambda path, _: embedding_axis(axes.get(path, '')))
        if not jax.tree.leaves(places):
            raise UserError(
                'optimizer.projection: train.unit_vectors:UnitVectors finds no matrix among the trained '
                "parameters: none declares axes as 'D -> F'; a part declares them by saccade.axes:parameter"
            )
        return each_leaf(params, lambda path, leaf: _projected(leaf, embedding_axis(axes.get(path, ''))))


def embedding_axis(axes: str) -> int | None:
    """Return the dimension of a parameter's vectors, the D, counted from the last; None if it has no such D."""
    letters, kernel = letters_of(axes), KernelAxes.of(axes)
    if kernel is None:
        return -1 if letters[copies_in(axes) :] == ['V', 'D'] else None
    sides = kernel.contracted, kernel.made
    if sum('D' in side for side in sides) != 1 or ('D',) not in sides:
        return None
    return letters.index('D') - len(letters)


def _projected(leaf: Array, axis: int | None) -> Array:
    if axis is None:
        return leaf
    moved = jax.numpy.moveaxis(leaf, axis, -1)
    return jax.numpy.moveaxis(normalised(moved).astype(leaf.dtype), -1, axis)
