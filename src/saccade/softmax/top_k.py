# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Top-k attention: softmax over the k highest scores of each row, zero for the rest.

    p[n, i] = softmax(M(s[n, i])),    M(s)_j = s_j if s_j >= t, else -inf;    t = the k-th highest score

Zhao et al. 2019, "Explicit Sparse Transformer: Concentrated Attention Through Explicit Selection", the masking M(P, k),
https://arxiv.org/abs/1912.11637
Keys that tie with the k-th are kept, as in the equation; a row with fewer than k keys keeps them all. Other keys get
no gradient. Cost: that of softmax plus a partial sort of T S scores per head. It has no blockwise path.
"""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from flax import struct
from jaxtyping import Array, Bool

from saccade.module import Module
from saccade.ops.softmax import masked_softmax
from saccade.types import Count, Rows, Scores

__all__ = ['TopK']


@struct.dataclass
class TopKWeights:
    """Softmax over the k highest scores of each row.

    Attributes: k, the number of scores kept per row.
    """

    k: int = struct.field(pytree_node=False)

    def __call__(self, scores: Scores, allowed: Bool[Array, '#B #N T S']) -> Scores:
        candidates = jax.lax.stop_gradient(jnp.where(allowed, scores, -jnp.inf))
        least = jax.lax.top_k(candidates, min(self.k, scores.shape[-1]))[0][..., -1:]
        return masked_softmax(scores, allowed & (candidates >= least))


class TopK(Module):
    """Top-k attention weights.

    Attributes: k, the number of keys per query.
    """

    k: Count

    rows: ClassVar[Rows] = Rows(dense=False, continuous=False)
    why_not: ClassVar[dict[str, str]] = {'OnlineSoftmaxVariant': 'the k-th highest score is that of a whole row'}
    example: ClassVar[dict[str, Any]] = dict(k=3)

    def __call__(self, heads: int) -> TopKWeights:
        return TopKWeights(self.k)
