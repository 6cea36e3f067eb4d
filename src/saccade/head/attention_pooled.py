# SPDX-FileCopyrightText: 2026 The Saccade authors
# SPDX-License-Identifier: Apache-2.0
"""Attention pooling head: a trained query attends to all places; a linear layer maps the result to scores.

    h = attention(q, x);   h <- h + f(norm(h));   scores = h V + c

Lee et al. 2019, "Set Transformer", equation 11, https://arxiv.org/abs/1810.00825, with one seed; Zhai et al. 2022,
"Scaling Vision Transformers", section 2.3, https://arxiv.org/abs/2106.04560, as MAP head; also in SigLIP's image
encoder. Cost: T D + 2 D^2 for the attention, and the feed-forward layer at one place.
"""

from typing import Any, ClassVar

import flax.linen as nn
import jax.numpy as jnp
from jaxtyping import Array, Float

from saccade.axes import parameter
from saccade.head.base import Classes
from saccade.norm.layer import LayerNorm
from saccade.types import CrossMixer, FeedForward, Hidden, LayerContext, Norm, Part, Reading, Source

__all__ = ['AttentionPooled']


class AttentionPooled(Classes):
    """Attention pooling head.

    Attributes:
        mixer: cross-attention of the query to the places.
        norm: norm of the attention output, before the feed-forward layer.
        feedforward: f; None for no feed-forward layer and no norm.
        query_init: initialiser of q [D].
    """

    mixer: Part[CrossMixer]
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
        query = parameter(self, 'query', 'D', self.query_init(), (x.shape[-1],)).astype(x.dtype)
        given, one = reading.context, jnp.ones((len(x), 1), jnp.int32)
        across = LayerContext(0 * one, one, source=Source(x, given.positions, given.segments))
        h = self.mixer(name='mixer')(jnp.broadcast_to(query, (len(x), 1, x.shape[-1])), across, train)
        if self.feedforward is not None:
            h = h + self.feedforward(name='feedforward')(self.norm(name='norm')(h), train)
        return self._scores(h[:, 0], train)
