# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Attention scores and weights of a block of queries and keys: scale, terms, mask, softmax variant.

All score-based kernels compute their scores here. `Scoring.attend` is the reference that every other path must equal:

    A = softmax(scale Q K^T + terms, masked);  Y = A V        (Vaswani et al. 2017, equation 1)
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from einops import rearrange
from flax import struct
from jaxtyping import Array, Bool, Float, PyTree

from saccade.ops.dropout import keep_pairs
from saccade.ops.softmax import SoftmaxWeights
from saccade.types import (
    Features,
    KeyIndex,
    Keys,
    Mask,
    Mixed,
    Pairs,
    Queries,
    QueryIndex,
    RowSoftmax,
    Scores,
    ScoreTerm,
    Values,
)


@struct.dataclass
class Dropout:
    """Attention dropout that depends only on the pair of indices, so every path drops the same pairs.

    Attributes:
        key: a PRNG key, as raw data.
        rate: share of the weights set to zero.
    """

    key: Array
    rate: float = struct.field(pytree_node=False)


@struct.dataclass
class Scoring:
    """Computation of scores from queries and keys, and of weights from scores.

    Attributes:
        mask: mask of allowed pairs.
        terms: score terms, in order.
        scale: factor of q.k; 1/sqrt(H) in Vaswani et al. 2017, equation 1. With 0 the scores come only from the terms.
        dropout: attention dropout; None outside training.
        softmax: softmax variant.
        features: features of each key of the row, for terms that read the layer's input.
        tap: `Module.tap` of the kernel whose scores and weights are asked for; None if they are not.
    """

    mask: Mask
    terms: tuple[ScoreTerm, ...] = ()
    scale: float = struct.field(pytree_node=False, default=1.0)
    dropout: Dropout | None = None
    softmax: RowSoftmax = SoftmaxWeights()
    features: Features = struct.field(default_factory=dict)
    tap: Callable[[str, str, Array], Array] | None = struct.field(pytree_node=False, default=None)

    def init_carry(self, q: Queries) -> PyTree:
        """Return the initial carry of each score term, for the last key block."""
        return tuple(term.init_carry(q) for term in self.terms)

    def pairs(self, q_index: QueryIndex, k_index: KeyIndex) -> Pairs:
        """Return the pairs of these indices with the allowed ones, with an axis for the heads, and their features."""
        allowed = self.mask(q_index, k_index)
        allowed = allowed[None, None] if allowed.ndim == 2 else allowed[:, None]
        features = {name: leaf[:, k_index] for name, leaf in self.features.items()}
        return Pairs(q_index, k_index, allowed, self.scale, features)

    def scores(self, q: Queries, k: Keys, pairs: Pairs, carry: PyTree) -> tuple[Scores, PyTree]:
        """Return scaled products with the terms applied, in float32, unmasked; and the carries."""
        scores = self.scale * grouped_products(q, k) if self.scale else _no_products(q, k)
        carries = []
        for term, part in zip(self.terms, carry, strict=True):
            scores, part = term(scores, q, k, pairs, part)
            carries.append(part)
        return scores, tuple(carries)

    def attend(
        self, q: Queries, k: Keys, v: Values, pairs: Pairs | None = None
    ) -> tuple[Mixed, Float[Array, 'B N T S']]:
        """Return the attention output, in the dtype of v, and the weights before dropout; zeros without allowed keys.

        Args:
            pairs: pairs of these queries and keys, which may differ between heads; None for whole rows.
        """
        if pairs is None:
            pairs = self.pairs(jnp.arange(q.shape[1]), jnp.arange(k.shape[1]))
        scores, _ = self.scores(q, k, pairs, self.init_carry(q))
        weights = mixed = self.weights(scores, pairs.allowed)
        if self.dropout is not None:
            mixed = weights * self.kept(weights.shape[:2], pairs)
        # A float32 product of bfloat16 inputs, rounded after, has no thunk in XLA:CPU for some small shapes.
        return weighted_values(mixed, v, v.dtype), weights

    def weights(self, scores: Scores, allowed: Bool[Array, '#B #N T S']) -> Float[Array, 'B N T S']:
        """Return the attention weights of scores: the pattern, before dropout."""
        if self.tap is None:
            return self.softmax(scores, allowed)
        scores = self.tap('scores', 'B N T S', scores)
        return self.tap('pattern', 'B N T S', self.softmax(scores, allowed))

    def kept(self, shape: tuple[int, int], pairs: Pairs) -> Float[Array, 'B N T S']:
        """Return the factors by which dropout multiplies the weights: 0, or 1 / (1 - rate)."""
        key = jax.random.wrap_key_data(self.dropout.key)
        keep = keep_pairs(key, 1.0 - self.dropout.rate, shape, pairs.q_index, pairs.k_index)
        return keep / (1.0 - self.dropout.rate)


def grouped_products(q: Queries, k: Keys) -> Scores:
    """Return q.k in float32; G = N/K query heads share each key head: head n uses key head n // G."""
    grouped = rearrange(q, 'B T (K G) H -> B T K G H', K=k.shape[-2])
    products = jnp.einsum('BTKGH,BSKH->BKGTS', grouped, k, preferred_element_type=jnp.float32)
    return rearrange(products, 'B K G T S -> B (K G) T S')


def _no_products(q: Queries, k: Keys) -> Scores:
    return jnp.zeros((q.shape[0], q.shape[2], q.shape[1], k.shape[1]))


def weighted_values(weights: Float[Array, 'B N T S'], v: Values, dtype: Any = jnp.float32) -> Mixed:
    """Return the weighted sum of values in a dtype; each group of heads has its own value head."""
    grouped = rearrange(weights, 'B (K G) T S -> B K G T S', K=v.shape[-2])
    mixed = jnp.einsum('BKGTS,BSKH->BTKGH', grouped.astype(v.dtype), v, preferred_element_type=dtype)
    return rearrange(mixed, 'B T K G H -> B T (K G) H')
