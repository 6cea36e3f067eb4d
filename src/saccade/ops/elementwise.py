# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Elementwise attention weights: p[j] = f(s[j]), for whole rows or in blocks."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree

from saccade.types import Scores


class ElementwiseWeights:
    """Base of pytrees with an elementwise `weight` of scores. Their float leaves may be trained."""

    def weight(self, scores: Scores) -> Scores:
        """Return the weight of each score, in its shape. Abstract."""
        raise NotImplementedError

    def __call__(self, scores: Scores, allowed: Bool[Array, '#B #N T S']) -> Scores:
        return jnp.where(allowed, self.weight(jnp.where(allowed, scores, 0.0)), 0.0)

    def start(self, rows: tuple[int, int, int]) -> PyTree:
        """Return an empty statistic: a weight does not depend on the rest of its row."""
        return ()

    def accumulate(self, statistic: PyTree, scores: Scores) -> tuple[PyTree, Scores, Float[Array, '#B #N #T']]:
        """Return the block's weights, which are final; earlier blocks keep a factor of 1."""
        return (), self(scores, scores > -jnp.inf), jnp.ones((1, 1, 1))

    def finalise(self, statistic: PyTree) -> tuple[Float[Array, '#B #N #T'], PyTree]:
        """Return 1 as the factor of each row, and nothing for the backward pass."""
        return jnp.ones((1, 1, 1)), ()

    def backward(
        self, scores: Scores, known: PyTree, dweights: Scores, inner: Float[Array, 'B N T 1']
    ) -> tuple[Scores, Scores, 'ElementwiseWeights']:
        """Return the block's weights, and the gradients with respect to the scores and this pytree."""
        weights, pull = jax.vjp(lambda self, scores: self(scores, scores > -jnp.inf), self, scores)
        dself, dscores = pull(dweights)
        return weights, dscores, dself
