# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Siamese classification head: scores of pairs of texts from their separately computed embeddings.

    u = pool(x of the first text),  v = pool(x of the second);   scores = (u, v, |u - v|) W + c

Reimers and Gurevych 2019, "Sentence-BERT", section 3, "Classification Objective Function", figure 1,
https://arxiv.org/abs/1908.10084. Rows are texts, the two of a pair adjacent; a single last text has no scores. Cost:
3 D C per pair. It is only for training: afterwards texts are compared by the cosine of u and v.
"""

import flax.linen as nn
import jax.numpy as jnp
from einops import rearrange
from jaxtyping import Array, Float

from saccade.head.base import Classes
from saccade.types import Hidden, Part, Reading

__all__ = ['Compared']


class Compared(Classes):
    """Siamese classification head.

    Attributes: pool, the same as in the head for the embeddings; see `head.pooled:Pooled`.
    """

    pool: Part

    @nn.compact
    def __call__(self, x: Hidden, reading: Reading, train: bool = False) -> Float[Array, 'pairs C']:
        vectors = self.pool(x, reading.context.real)
        # The number of texts can be odd if they are embedded one by one.
        u, v = rearrange(vectors[: len(vectors) // 2 * 2], '(pairs texts) D -> texts pairs D', texts=2)
        return self._scores(jnp.concatenate([u, v, jnp.abs(u - v)], axis=-1), train)
