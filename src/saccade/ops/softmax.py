# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Softmax over allowed keys: for whole rows, with a backward pass that stores only the weights; and online.

A sink is an additional logit in every row's normaliser, without a key and a value:

    p[j] = exp(s[j]) / (exp(c) + sum_k exp(s[k])),    dL/dc = - sum over rows of p_sink sum_k p[k] dL/dp[k]
"""

import jax
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Bool, Float, PyTree

from saccade.types import Scores


@jax.custom_vjp
def masked_softmax(
    scores: Float[Array, '*B T S'], allowed: Bool[Array, '*#B T S'], sink: Float[Array, '*#B #T 1'] | None = None
) -> Float[Array, '*B T S']:
    """Softmax over the last axis of the allowed entries; a row without allowed entries is all zeros."""
    return _forward(scores, allowed, sink)[0]


def _forward(scores: Array, allowed: Array, sink: Array | None) -> tuple[Array, tuple[Array | None, ...]]:
    scores = jnp.where(allowed, scores, -jnp.inf)
    highest = jax.lax.stop_gradient(jnp.max(scores, axis=-1, keepdims=True))
    highest = highest if sink is None else jnp.maximum(highest, sink)
    finite = jnp.where(jnp.isfinite(highest), highest, 0.0)
    exponentials = jnp.exp(scores - finite)
    total = jnp.sum(exponentials, axis=-1, keepdims=True)
    total = total if sink is None else total + jnp.exp(sink - finite)
    total = jnp.where(total > 0, total, 1.0)
    weights = exponentials / total
    return weights, (weights, None if sink is None else jnp.exp(sink - finite) / total, sink)


def _backward(saved: tuple[Array | None, ...], dweights: Array) -> tuple[Array | None, ...]:
    weights, of_sink, sink = saved
    inner = jnp.sum(dweights * weights, axis=-1, keepdims=True)
    return weights * (dweights - inner), None, None if sink is None else _summed_to(-of_sink * inner, sink)


def _summed_to(x: Array, like: Array) -> Array:
    """Undo a broadcast."""
    return jax.vjp(lambda like: jnp.broadcast_to(like, x.shape), like)[1](x)[0]


masked_softmax.defvjp(_forward, _backward)


@struct.dataclass
class SoftmaxWeights:
    """Softmax of each row, whole or online (Milakov and Gimelshein 2018, https://arxiv.org/abs/1805.02867).

    Attributes:
        sink: additional logit per head in the normaliser; None for no sink.
    """

    sink: Float[Array, ' N'] | None = None

    def __call__(self, scores: Scores, allowed: Bool[Array, '#B #N T S']) -> Scores:
        return masked_softmax(scores, allowed, None if self.sink is None else self.sink[:, None, None])

    def start(self, rows: tuple[int, int, int]) -> PyTree:
        """Return the initial maximum and normaliser: -inf and 0, or with a sink its logit and 1."""
        if self.sink is None:
            return jnp.full(rows, -jnp.inf), jnp.zeros(rows)
        return jnp.broadcast_to(self.sink[:, None], rows), jnp.ones(rows)

    def accumulate(self, statistic: PyTree, scores: Scores) -> tuple[PyTree, Scores, Float[Array, '#B #N #T']]:
        """Update maximum and normaliser of each row; return them, the exponentials, and the factor of earlier ones.

        The factor is exp(old maximum - new maximum).
        """
        highest, total = statistic
        new = jnp.maximum(highest, scores.max(axis=-1))
        finite = jnp.where(jnp.isfinite(new), new, 0.0)
        weights, shrink = jnp.exp(scores - finite[..., None]), jnp.exp(highest - finite)
        return (new, total * shrink + weights.sum(axis=-1)), weights, shrink

    def finalise(self, statistic: PyTree) -> tuple[Float[Array, '#B #N #T'], PyTree]:
        """Return the inverse of the normaliser; and the maximum with the inverse, for the backward pass.

        A single logarithm of both would lose digits of the normaliser for large scores.
        """
        highest, total = statistic
        share = 1.0 / jnp.where(total > 0, total, 1.0)
        return share, (jnp.where(jnp.isfinite(highest), highest, 0.0), share)

    def backward(
        self, scores: Scores, known: PyTree, dweights: Scores, inner: Float[Array, 'B N T 1']
    ) -> tuple[Scores, Scores, 'SoftmaxWeights']:
        """Recompute the block's weights; return them, the gradient of the scores, and of the sink, if any."""
        highest, share = known
        weights = jnp.exp(scores - highest[..., None]) * share[..., None]
        # A weight of 1 has no gradient, but dweights and inner, summed in different orders, do not cancel exactly.
        dscores = jnp.where(weights < 1.0, weights * (dweights - inner), 0.0)
        if self.sink is None:
            return weights, dscores, self
        of_sink = jnp.exp(self.sink[:, None] - highest) * share
        dsink = -jnp.sum(of_sink * jnp.sum(weights * dweights, axis=-1), axis=(0, -1))
        return weights, dscores, SoftmaxWeights(dsink)
