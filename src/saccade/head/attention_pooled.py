# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Attention pooling head: trained queries attend to all places; a linear layer maps the results to scores.

    h_m = attention(q_m, x);   h_m <- h_m + f(norm(h_m));   scores = concat_m(h_m) V + c,   m = 1..M

Lee et al. 2019, "Set Transformer", equation 11 (PMA), https://arxiv.org/abs/1810.00825: M seeds that attend by
`attention.set_attention:SetAttention`; Zhai et al. 2022, "Scaling Vision Transformers", section 2.3,
https://arxiv.org/abs/2106.04560, as MAP head, with one query; also in SigLIP's image encoder. Cost: M T D + M D^2 for
the attention besides keys and values, and the feed-forward layer at M places.
"""

from typing import Any, ClassVar

import flax.linen as nn
import jax.numpy as jnp
from einops import rearrange
from jaxtyping import Array, Float

from saccade.axes import parameter
from saccade.head.base import Classes
from saccade.norm.layer import LayerNorm
from saccade.types import Count, CrossMixer, FeedForward, Hidden, LayerContext, Norm, Part, Reading, Source

__all__ = ['AttentionPooled']


class AttentionPooled(Classes):
    """Attention pooling head.

    Also called: PMA, pooling by multihead attention, MAP head.

    Attributes:
        mixer: cross-attention of the queries to the places.
        queries: number of queries (M), the seeds of the Set Transformer.
        norm: norm of the attention output, before the feed-forward layer.
        feedforward: f; None for no feed-forward layer and no norm.
        query_init: initialiser of q [M D].
    """

    mixer: Part[CrossMixer]
    queries: Count = 1
    norm: Part[Norm] = Part(LayerNorm)
    feedforward: Part[FeedForward] | None = None
    query_init: Part = Part(nn.initializers.normal, (('stddev', 0.02),))

    example: ClassVar[dict[str, Any]] = {
        'mixer': {
            'use': 'attention.multi_head:MultiHead',
            'heads': 2,
            'kernel': {'use': 'attention.plain:Plain'},
            'mask': {'use': 'ops.mask:Full'},
            'position': {'use': 'position.none:NoPosition'},
        },
        'norm': {'use': 'norm.layer:LayerNorm'},
    }

    @nn.compact
    def __call__(self, x: Hidden, reading: Reading, train: bool = False) -> Float[Array, 'B C']:
        B, _, D = x.shape
        query = parameter(self, 'query', 'M D', self.query_init(), (self.queries, D)).astype(x.dtype)
        given, one = reading.context, jnp.ones((B, self.queries), jnp.int32)
        across = LayerContext(0 * one, one, source=Source(x, given.positions, given.segments))
        h = self.mixer(name='mixer')(jnp.broadcast_to(query, (B, *query.shape)), across, train)
        if self.feedforward is not None:
            h = h + self.feedforward(name='feedforward')(self.norm(name='norm')(h), train)
        return self._scores(rearrange(h, 'B M D -> B (M D)'), train)
